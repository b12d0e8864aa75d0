#include "pkg/api/field_reader.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::api {
namespace {

using nlohmann::json;

std::string OnlyError(const FieldErrors& errors) {
  EXPECT_EQ(errors.lines().size(), 1u);
  return errors.lines().empty() ? "" : errors.lines()[0];
}

TEST(FieldReaderTest, AWrongTypeNamesThePathTheRangeAndWhatWasThere) {
  const json object = {{"spec", {{"parallelism", {{"tensor", "eight"}}}}}};
  FieldErrors errors;
  FieldReader in(&object, "", UnknownFields::kReject, &errors);
  FieldReader p = in.Object("spec").Object("parallelism");
  EXPECT_EQ(p.Int("tensor", 1, 1, 1'000'000), 1);
  EXPECT_EQ(OnlyError(errors),
            "spec.parallelism.tensor: expected an integer from 1 to 1000000, got \"eight\"; write "
            "the number without quotes");
}

TEST(FieldReaderTest, ALongValueIsShownWithoutAPartOfACharacter) {
  // The quote and 55 bytes; the character after them would be cut.
  const json value = std::string(55, 'x') + "\xC3\xA9" + std::string(20, 'y');
  EXPECT_EQ(Shown(value), "\"" + std::string(55, 'x') + "...");
}

TEST(FieldReaderTest, ANumberOutOfRangeOrWithAFractionIsRefused) {
  for (const json& value : {json(0), json(-3), json(1.5), json(1e30), json(true), json("8"),
                            json(18446744073709551615u), json::array(), json::object()}) {
    const json object = {{"n", value}};
    FieldErrors errors;
    FieldReader in(&object, "spec", UnknownFields::kReject, &errors);
    EXPECT_EQ(in.Int("n", 7, 1, 100), 7);
    EXPECT_EQ(OnlyError(errors).rfind("spec.n: expected an integer from 1 to 100", 0), 0u);
  }
}

TEST(FieldReaderTest, AWholeNumberInFloatingFormIsAnInteger) {
  const json object = {{"n", 8.0}};
  FieldErrors errors;
  FieldReader in(&object, "spec", UnknownFields::kReject, &errors);
  EXPECT_EQ(in.Int("n", 7, 1, 100), 8);
  EXPECT_TRUE(errors.empty());
}

TEST(FieldReaderTest, NullIsLeftOut) {
  const json object = {{"n", nullptr}, {"s", nullptr}, {"o", nullptr}, {"l", nullptr}};
  FieldErrors errors;
  FieldReader in(&object, "spec", UnknownFields::kReject, &errors);
  EXPECT_EQ(in.Int("n", 7, 1, 100), 7);
  EXPECT_EQ(in.String("s", "x"), "x");
  EXPECT_FALSE(in.Object("o").present());
  EXPECT_TRUE(in.Objects("l").empty());
  in.Close();
  EXPECT_TRUE(errors.empty());
}

TEST(FieldReaderTest, AnUnknownFieldIsReportedWithTheOneThatWasMeant) {
  const json object = {{"gpusPerWorkr", 8}};
  FieldErrors errors;
  FieldReader in(&object, "spec", UnknownFields::kReject, &errors);
  in.Int("workers", 1, 1, 10);
  in.Int("gpusPerWorker", 1, 1, 10);
  in.Close();
  EXPECT_EQ(OnlyError(errors),
            "spec.gpusPerWorkr: there is no such field; did you mean gpusPerWorker?");
}

TEST(FieldReaderTest, AnAbbreviationOfParallelTrainingNamesItsField) {
  const json object = {{"tp", 8}, {"ep", 2}};
  FieldErrors errors;
  FieldReader in(&object, "spec.parallelism", UnknownFields::kReject, &errors);
  in.Int("tensor", 1, 1, 10);
  in.Int("pipeline", 1, 1, 10);
  in.Close();
  ASSERT_EQ(errors.lines().size(), 2u);
  EXPECT_EQ(errors.lines()[0], "spec.parallelism.ep: there is no such field; remove it")
      << "where there is no field expert";
  EXPECT_EQ(errors.lines()[1], "spec.parallelism.tp: there is no such field; did you mean tensor?");
}

TEST(FieldReaderTest, ANumberWithItsUnitIsToldTheNumber) {
  const json object = {{"nicGbps", "400G"}, {"rails", "8x"}};
  FieldErrors errors;
  FieldReader in(&object, "spec.host", UnknownFields::kReject, &errors);
  EXPECT_EQ(in.Number("nicGbps", 200, 1, 1000), 200);
  EXPECT_EQ(in.Int("rails", 1, 1, 64), 1);
  EXPECT_EQ(errors.lines(),
            (std::vector<std::string>{
                "spec.host.nicGbps: expected a number from 1 to 1000, got \"400G\"; write the "
                "number alone, for example 400; the unit is Gb/s",
                "spec.host.rails: expected an integer from 1 to 64, got \"8x\"; write the number "
                "alone, for example 8"}));
}

TEST(FieldReaderTest, UnknownFieldsOfOthersAreIgnored) {
  const json object = {{"whatever", 8}};
  FieldErrors errors;
  FieldReader in(&object, "spec", UnknownFields::kIgnore, &errors);
  in.Close();
  EXPECT_TRUE(errors.empty());
}

TEST(FieldReaderTest, AWrongWordOfAnEnumerationListsTheRightOnes) {
  constexpr std::string_view kNames[] = {"Host", "Segment", "FabricPod", "Fabric"};
  enum class E { kHost, kSegment, kFabricPod, kFabric };
  const json object = {{"within", "segment"}};
  FieldErrors errors;
  FieldReader in(&object, "spec", UnknownFields::kReject, &errors);
  EXPECT_EQ(in.Enum("within", kNames, E::kFabric), E::kFabric);
  EXPECT_EQ(OnlyError(errors),
            "spec.within: expected Host, Segment, FabricPod or Fabric, got \"segment\"; did you "
            "mean Segment?");
}

TEST(FieldReaderTest, ElementsOfListsAreNamedByIndexAndOddKeysAreQuoted) {
  const json object = {{"list", {{{"a", 1}}, 5}}, {"labels", {{"x.y/z", 1}}}};
  FieldErrors errors;
  FieldReader in(&object, "", UnknownFields::kReject, &errors);
  EXPECT_EQ(in.Objects("list").size(), 2u);
  in.StringMap("labels");
  ASSERT_EQ(errors.lines().size(), 2u);
  EXPECT_EQ(errors.lines()[0].rfind("list[1]: expected an object, got 5", 0), 0u);
  EXPECT_EQ(errors.lines()[1].rfind("labels[\"x.y/z\"]: expected a string, got 1", 0), 0u);
}

TEST(FieldReaderTest, AllErrorsOfOneObjectAreCollectedUpToALimit) {
  json object;
  for (int i = 0; i < 1000; ++i) object["f" + std::to_string(i)] = 1;
  FieldErrors errors;
  FieldReader in(&object, "spec", UnknownFields::kReject, &errors);
  in.Close();
  EXPECT_EQ(errors.lines().size(), 50u);
  EXPECT_FALSE(errors.status().ok());
}

TEST(FieldReaderTest, InvalidUtf8InAValueDoesNotThrow) {
  const json object = {{"n", "\xff\xfe"}};
  FieldErrors errors;
  FieldReader in(&object, "spec", UnknownFields::kReject, &errors);
  in.Int("n", 1, 1, 2);
  EXPECT_EQ(errors.lines().size(), 1u);
}

// An object of which each field breaks a rule, and what is said of it.
std::vector<std::string> BrokenRules(UnknownFields unknown) {
  const json object = {{"empty", ""},
                       {"long", "\xC3\xA4\xC3\xA4\xC3\xA4"},
                       {"label", "A"},
                       {"unread", 1},
                       {"few", json::array()},
                       {"set", {"a", "b", "a"}},
                       {"map", {{{"name", "a"}}, {{"name", "a"}}}},
                       {"ints", {1, 2, 1}},
                       {"texts", {{"k", "ab"}, {"l", "c"}}}};
  FieldErrors errors;
  FieldReader in(&object, "spec", unknown, &errors);
  EXPECT_EQ(in.String("empty", NotEmpty(kLabelValue), "x"), "");
  in.String("long", TextRule{2});
  EXPECT_EQ(in.RequiredString("label", DnsLabel(8)), "A");
  in.CheckText("unread", TextRule{2});
  in.Strings("few", {.max_entries = 3, .min_entries = 1});
  EXPECT_EQ(in.Strings("set", {.max_entries = 2, .is_set = true}, {1}).size(), 3u);
  EXPECT_EQ(in.Objects("map", {.map_key = "name"}).size(), 2u);
  EXPECT_EQ(in.Ints("ints", 0, 9, {.is_set = true}).size(), 3u);
  EXPECT_EQ(in.StringMap("texts", 1, TextRule{1}).size(), 2u);
  return errors.lines();
}

TEST(FieldReaderTest, WhatBreaksARuleIsNamedAndReadAllTheSame) {
  const std::vector<std::string> lines = BrokenRules(UnknownFields::kReject);
  const char* const begins[] = {
      "spec.empty: expected at least 1 character, got \"\"; ",
      "spec.long: expected at most 2 characters, got 3; ",
      "spec.label: expected lower-case letters, digits and -, starting with a letter and not "
      "ending with -, got "
      "\"A\"; ",
      "spec.unread: expected a string, got 1; ",
      "spec.few: expected at least 1 entry, got 0; ",
      "spec.set: expected at most 2 entries, got 3; ",
      "spec.set[2]: expected a value that no earlier entry has, got \"a\"; ",
      "spec.map[1].name: expected a value that no earlier entry has, got \"a\"; ",
      "spec.ints[2]: expected a value that no earlier entry has, got 1; ",
      "spec.texts: expected at most 1 entry, got 2; ",
      "spec.texts.k: expected at most 1 character, got 2; "};
  ASSERT_EQ(lines.size(), std::size(begins));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].rfind(begins[i], 0), 0u) << lines[i] << "\n" << begins[i];
  }
}

TEST(FieldReaderTest, ErrorsBeyondTheLinesThatAreKeptAreCounted) {
  FieldErrors errors;
  for (int i = 0; i < 60; ++i) errors.AddLine("error " + std::to_string(i));
  EXPECT_EQ(errors.lines().size(), 50u);
  EXPECT_EQ(errors.added(), 60);
}

// An older version may have stored it under a schema without the rule.
TEST(FieldReaderTest, WhatTheClusterHasMayBreakRules) {
  EXPECT_EQ(BrokenRules(UnknownFields::kIgnore), std::vector<std::string>());
}

TEST(FieldReaderTest, LabelsOfDnsBeginWithALetter) {
  for (const char* good : {"a", "a-1", "z9", "a--b"}) EXPECT_TRUE(IsDnsLabel(good)) << good;
  for (const char* bad : {"", "-", "1a", "a-", "A", "a.b", "a_b", "\xC3\xA4"}) {
    EXPECT_FALSE(IsDnsLabel(bad)) << bad;
  }
}

TEST(NearestTest, FindsTyposAndLeavesOtherWordsAlone) {
  EXPECT_EQ(Nearest("worker", {"workers", "template"}), "workers");
  EXPECT_EQ(Nearest("WORKERS", {"workers", "template"}), "workers");
  EXPECT_EQ(Nearest("colour", {"workers", "template"}), "");
}

}  // namespace
}  // namespace yardmaster::api
