#include "pkg/api/field_codec.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

enum class Colour { kRed, kGreen };
constexpr std::string_view kColours[] = {"Red", "Green"};

struct Part {
  int number = 0;
  bool operator==(const Part&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Int("number", number, 0, 9, RequiredByServer("A number."));
  }
};

struct Sample {
  std::string name;
  Colour colour = Colour::kGreen;
  int count = 3;
  std::optional<int> level;
  std::int64_t changed_ms = 0;
  std::vector<Part> parts;
  Part inner;
  bool operator==(const Sample&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("name", name, TextRule{5}, Required("A name."));
    fields.Enum("colour", colour, kColours, Defaulted("A colour."));
    fields.Int("count", count, 1, 9, Defaulted("A count.").OmitAt(3));
    fields.Int("level", level, 0, 63, "A level.");
    fields.Time("changed", changed_ms, About("A time.").OrNull());
    fields.Objects("parts", parts, {2}, About("Parts.").Always(), "One part.");
    fields.Object("inner", inner, "A part.");
    fields.Check([this](FieldReader& in) {
      if (count > 5) in.errors().Add(in.PathOf("count"), "is large", "make it small");
    });
  }
};

Sample Read(const json& object, UnknownFields unknown, FieldErrors& errors) {
  return DecodeObject<Sample>({&object, "spec", unknown, &errors});
}

TEST(FieldCodecTest, EveryFieldReadsBackAsItWasWritten) {
  const Sample sample{"a", Colour::kRed, 4, 0, 1'700'000'000'000, {{1}, {0}}, {7}};
  FieldErrors errors;
  EXPECT_EQ(Read(EncodeObject(sample), UnknownFields::kReject, errors), sample);
  EXPECT_THAT(errors.lines(), IsEmpty());
}

TEST(FieldCodecTest, ADefaultIsWrittenWhereItsDescriptionSaysSo) {
  EXPECT_EQ(EncodeObject(Sample()), json::parse(R"({"colour":"Green","changed":null,"parts":[]})"));
}

TEST(FieldCodecTest, WhatIsLeftOutKeepsTheDefaultOfTheMember) {
  FieldErrors errors;
  const Sample read = Read({{"name", "a"}}, UnknownFields::kReject, errors);
  Sample expected;
  expected.name = "a";
  EXPECT_EQ(read, expected);
  EXPECT_THAT(errors.lines(), IsEmpty());
}

TEST(FieldCodecTest, ErrorsNameFieldAndFixInTheOrderOfTheDescription) {
  FieldErrors errors;
  Read(json::parse(R"({"colour":"Gren","count":9,"parts":[{"number":10,"numbr":1}],"levl":1})"),
       UnknownFields::kReject, errors);
  EXPECT_THAT(
      errors.lines(),
      ElementsAre("spec.name: is missing; give it a value",
                  "spec.colour: expected Red or Green, got \"Gren\"; did you mean Green?",
                  "spec.parts[0].number: expected an integer from 0 to 9, got 10; give a number in "
                  "that range",
                  "spec.parts[0].numbr: there is no such field; did you mean number?",
                  "spec.count: is large; make it small",
                  "spec.levl: there is no such field; did you mean level?"));
}

TEST(FieldCodecTest, WhatTheServerRequiresMayBeMissingInAFile) {
  FieldErrors errors;
  const json object = {{"name", "a"}, {"parts", json::array({json::object()})}};
  EXPECT_EQ(Read(object, UnknownFields::kReject, errors).parts, std::vector<Part>{{0}});
  EXPECT_THAT(errors.lines(), IsEmpty());
}

TEST(FieldCodecTest, InAClusterOtherFieldsAndLongerTextsAreTaken) {
  FieldErrors errors;
  const json object = {{"name", "abcdef"}, {"other", 1}};
  EXPECT_EQ(Read(object, UnknownFields::kIgnore, errors).name, "abcdef");
  EXPECT_THAT(errors.lines(), IsEmpty());
}

}  // namespace
}  // namespace yardmaster::api
