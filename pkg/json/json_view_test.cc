#include "pkg/json/json_view.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

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

TEST(JsonViewTest, WhatSimdjsonRefusesAndIsJsonIsReadAllTheSame) {
  JsonParser parser;
  const auto large = parser.Parse(R"({"x":123456789012345678901234567890,"y":1})");
  ASSERT_TRUE(large.ok());
  EXPECT_EQ((*large)["y"].WholeNumber(), 1);
  const auto deep = parser.Parse(std::string(2000, '[') + std::string(2000, ']'));
  ASSERT_TRUE(deep.ok());
  EXPECT_TRUE(deep->is_array());
}

TEST(JsonViewTest, WhatLiesVeryDeepReadsAsAbsentAndTheRestIsRead) {
  JsonParser parser;
  const int depth = 200'000;
  const auto value = parser.Parse(R"({"deep": )" + std::string(depth, '[') +
                                  std::string(depth, ']') + R"(, "y": 1})");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ((*value)["y"].WholeNumber(), 1);
  const json copy = value->ToJson();
  EXPECT_LT(copy.dump().size(), 3u * JsonParser::kMaxDepth);
}

TEST(JsonViewTest, WhatIsNoJsonIsAnError) {
  JsonParser parser;
  for (const char* text : {"", "{", "{\"a\":}", "nul", "\"\xff\"", "1 2"}) {
    EXPECT_FALSE(parser.Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace yardmaster
