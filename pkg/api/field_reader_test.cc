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

TEST(NearestTest, FindsTyposAndLeavesOtherWordsAlone) {
  EXPECT_EQ(Nearest("worker", {"workers", "template"}), "workers");
  EXPECT_EQ(Nearest("WORKERS", {"workers", "template"}), "workers");
  EXPECT_EQ(Nearest("colour", {"workers", "template"}), "");
}

}  // namespace
}  // namespace yardmaster::api
