#include "pkg/api/field_schema.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::api {
namespace {

using nlohmann::json;
using testing::ElementsAre;

json SchemaOf(absl::FunctionRef<void(FieldVisitor&)> describe) {
  return SchemaOfFields("An object.", describe);
}

TEST(FieldSchemaTest, AFieldHasTypeBoundsDefaultAndMeaning) {
  int count = 3;
  const json schema = SchemaOf(
      [&](FieldVisitor& fields) { fields.Int("count", count, 1, 9, Defaulted("A count.")); });
  EXPECT_EQ(schema, json::parse(R"({"type":"object","description":"An object.","properties":{
      "count":{"type":"integer","format":"int32","minimum":1,"maximum":9,"default":3,
               "description":"A count."}}})"));
}

TEST(FieldSchemaTest, BoundsOfTheTypeAreLeftOut) {
  std::int64_t count = 0;
  double share = 0;
  const json properties = SchemaOf([&](FieldVisitor& fields) {
    fields.Int("count", count, INT64_MIN, INT64_MAX, "A count.");
    fields.Number("share", share, 0, kNoMaximum, "A share.");
  })["properties"];
  EXPECT_FALSE(properties["count"].contains("minimum"));
  EXPECT_FALSE(properties["count"].contains("maximum"));
  EXPECT_EQ(properties["share"]["minimum"], 0);
  EXPECT_FALSE(properties["share"].contains("maximum"));
}

// It compares whole numbers as int64.
TEST(FieldSchemaTest, ABoundThatTheServerCannotCompareIsLeftOut) {
  double flop = 0;
  const json properties = SchemaOf([&](FieldVisitor& fields) {
    fields.Number("large", flop, 0, 1e18, "FLOP.");
    fields.Number("larger", flop, 0, 1e30, "FLOP.");
  })["properties"];
  EXPECT_EQ(properties["large"]["maximum"], 1'000'000'000'000'000'000);
  EXPECT_FALSE(properties["larger"].contains("maximum"));
}

TEST(FieldSchemaTest, ATextThatHasToBeThereIsNotEmpty) {
  std::string name, other;
  const json schema = SchemaOf([&](FieldVisitor& fields) {
    fields.Text("name", name, TextRule{63}, Required("A name."));
    fields.Text("other", other, TextRule{63}, RequiredByServer("A name."));
  });
  EXPECT_EQ(schema["required"], json::array({"name", "other"}));
  EXPECT_EQ(schema["properties"]["name"]["minLength"], 1);
  EXPECT_FALSE(schema["properties"]["other"].contains("minLength"));
}

TEST(FieldSchemaTest, AListSaysWhatTellsItsEntriesApart) {
  std::vector<int> numbers;
  std::vector<std::string> words;
  const json properties = SchemaOf([&](FieldVisitor& fields) {
    fields.Ints("numbers", numbers, 0, 9, {.max_entries = 4, .is_set = true}, "Numbers.");
    fields.Texts("words", words, {2, 1}, TextRule{8}, "Words.", "A word.");
  })["properties"];
  EXPECT_EQ(properties["numbers"]["x-kubernetes-list-type"], "set");
  EXPECT_EQ(properties["numbers"]["maxItems"], 4);
  EXPECT_EQ(properties["words"]["x-kubernetes-list-type"], "atomic");
  EXPECT_EQ(properties["words"]["minItems"], 1);
  EXPECT_EQ(properties["words"]["items"],
            json::parse(R"({"type":"string","maxLength":8,"description":"A word."})"));
}

TEST(FieldSchemaTest, ARuleHoldsWhereItsExceptionDoes) {
  const json rules = SchemaOf([](FieldVisitor& fields) {
    fields.Rule("self.a == 1", "a must be 1", ".a");
    fields.Rule("self.b == 1", "b must be 1", "", "has(self.c)");
  })["x-kubernetes-validations"];
  EXPECT_EQ(rules, json::parse(R"([
      {"rule":"self.a == 1","message":"a must be 1","fieldPath":".a"},
      {"rule":"has(self.c) || self.b == 1","message":"b must be 1"}])"));
}

TEST(FieldSchemaTest, NamesOfFieldsAreSorted) {
  bool a = false, b = false;
  EXPECT_THAT(NamesOfFields([&](FieldVisitor& fields) {
                fields.Bool("b", b, "B.");
                fields.Bool("a", a, "A.");
              }),
              ElementsAre("a", "b"));
}

}  // namespace
}  // namespace yardmaster::api
