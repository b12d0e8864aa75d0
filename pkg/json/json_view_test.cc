#include "pkg/json/json_view.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/testing/heap_meter.h"

namespace yardmaster {
namespace {

using nlohmann::json;

// What both kinds of document say of one text.
void ExpectBothAgree(const std::string& text) {
  SCOPED_TRACE(text);
  JsonParser parser;
  const auto tape = parser.Parse(text);
  ASSERT_TRUE(tape.ok()) << tape.status();
  const json tree = json::parse(text);
  EXPECT_EQ(tape->ToJson().dump(), tree.dump()) << "a whole number stays one";
  EXPECT_EQ(tape->type(), JsonView(tree).type());
  EXPECT_EQ(tape->size(), JsonView(tree).size());
  EXPECT_EQ(tape->String(), JsonView(tree).String());
  EXPECT_EQ(tape->WholeNumber(), JsonView(tree).WholeNumber());
  EXPECT_EQ(tape->Number(), JsonView(tree).Number());
  EXPECT_EQ(tape->Bool(), JsonView(tree).Bool());
}

json RandomValue(std::mt19937& random, int depth) {
  switch (random() % (depth == 0 ? 6 : 8)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<std::int64_t>(random()) - (std::int64_t{1} << 31);
    case 3:
      return static_cast<std::uint64_t>(random()) << 32 | random();
    case 4:
      return static_cast<double>(random()) / 1000.0;
    case 5:
      return std::string(random() % 20, static_cast<char>('a' + random() % 26)) + "\"\n\u00e9";
    case 6: {
      json list = json::array();
      for (unsigned i = random() % 4; i > 0; --i) list.push_back(RandomValue(random, depth - 1));
      return list;
    }
    default: {
      json object = json::object();
      for (unsigned i = random() % 5; i > 0; --i) {
        object["k" + std::to_string(random() % 9)] = RandomValue(random, depth - 1);
      }
      return object;
    }
  }
}

TEST(JsonViewTest, BothKindsOfDocumentReadAlike) {
  for (const char* text : {"null", "true", "0", "-7", "18446744073709551615", "1.5", "3.0", "1e300",
                           "\"\"", "\"a\\u00e9\"", "[]", "{}", "[1,[2],{\"a\":null}]"}) {
    ExpectBothAgree(text);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) ExpectBothAgree(RandomValue(random, 4).dump());
}

TEST(JsonViewTest, WhatIsAbsentStaysAbsentAllTheWayDown) {
  JsonParser parser;
  const auto root = parser.Parse(R"({"a":{"b":[1,2]},"n":null,"s":"text"})");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->At({"a", "b"}).size(), 2u);
  EXPECT_FALSE(root->At({"a", "x", "y"}).present());
  EXPECT_FALSE(root->At({"s", "x"}).present());
  EXPECT_TRUE((*root)["n"].present());
  EXPECT_TRUE((*root)["n"].is_null());
  EXPECT_EQ((*root)["s"].Text(), "text");
  EXPECT_EQ((*root)["a"].Text(), "");
  EXPECT_EQ(JsonView().ToJson(), nullptr);
}

TEST(JsonViewTest, AParserIsUsedAgainForTextsOfAnyLength) {
  JsonParser parser;
  for (const std::size_t size : {10u, 100'000u, 3u}) {
    const auto value = parser.Parse(json(std::string(size, 'x')).dump());
    ASSERT_TRUE(value.ok());
    EXPECT_EQ(value->String()->size(), size);
  }
}

TEST(JsonViewTest, OfAWholeNumberBeyond64BitsSeventeenDigitsAreRead) {
  JsonParser parser;
  const auto value = parser.Parse(
      R"({"a":123456789012345678901234567890,"b":-99999999999999999999,"c":"99999999999999999999\"1",)"
      R"("d":18446744073709551615,"e":9223372036854775808,"f":[99999999999999999999]})");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_DOUBLE_EQ((*value)["a"].Number().value_or(0), 123456789012345678901234567890.0);
  EXPECT_EQ((*value)["b"].Number(), -99999999999999999999.0);
  EXPECT_EQ((*value)["c"].Text(), "99999999999999999999\"1");
  EXPECT_EQ((*value)["d"].Number(), 18446744073709551615.0);
  EXPECT_EQ((*value)["e"].ToJson(), json(9223372036854775808u));
  EXPECT_EQ((*value)["f"].size(), 1u);
  EXPECT_EQ((*value)["a"].WholeNumber(), std::nullopt);
}

std::string Nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(JsonViewTest, AsDeepAsTheApiServerStoresIsReadAndCopiedUpToALimit) {
  JsonParser parser;
  const auto deep = parser.Parse(Nested(10'000));
  ASSERT_TRUE(deep.ok()) << deep.status();
  EXPECT_TRUE(deep->IsDeeperThan(500));
  EXPECT_EQ(deep->ToJson(2), json::parse("[[null]]"));
  EXPECT_EQ(deep->ToJson().dump().size(), 2u * JsonView::kMaxCopiedLevels + 4);
  const auto less_deep = parser.Parse(Nested(300));
  EXPECT_TRUE(less_deep->IsDeeperThan(299));
  EXPECT_FALSE(less_deep->IsDeeperThan(300));
  EXPECT_FALSE(parser.Parse(Nested(20'000)).ok());
}

TEST(JsonViewTest, TextBytesAreThoseOfTheTextRoughly) {
  JsonParser parser;
  for (const char* text : {"{}", "[]", R"({"a":"b","c":[true,null,{}]})", R"(["aaaaaaaaaa"])"}) {
    const auto value = parser.Parse(text);
    ASSERT_TRUE(value.ok());
    EXPECT_NEAR(static_cast<double>(value->TextBytes()),
                static_cast<double>(std::string(text).size()), 4)
        << text;
  }
  EXPECT_EQ(JsonView().TextBytes(), 0u);
}

// What a person without rights can post or store: nothing of it costs a second parser.
TEST(JsonViewTest, MemoryIsBoundedByTheTextWhateverStandsInIt) {
  std::string lists = "[99999999999999999999", numbers = lists;
  while (lists.size() < (4u << 20)) lists += ",[]";
  while (numbers.size() < (4u << 20)) numbers += ",99999999999999999999";
  for (const std::string& text : {std::string(4u << 20, '['), lists + "]", numbers + "]"}) {
    const HeapMeter heap;
    JsonParser parser;
    (void)parser.Parse(text);
    EXPECT_LE(heap.peak(), static_cast<std::int64_t>(17 * text.size())) << text.substr(0, 30);
  }
}

TEST(JsonViewTest, TheBuffersOfALongTextAreNotKept) {
  JsonParser parser;
  const HeapMeter heap;
  ASSERT_TRUE(parser.Parse(json(std::string(4u << 20, 'x')).dump()).ok());
  ASSERT_TRUE(parser.Parse("1").ok());
  EXPECT_LE(heap.held(), 1 << 20);
}

TEST(JsonViewTest, WhatIsNoJsonIsAnError) {
  JsonParser parser;
  for (const char* text : {"", "{", "{\"a\":}", "nul", "\"\xff\"", "1 2"}) {
    EXPECT_FALSE(parser.Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace yardmaster
