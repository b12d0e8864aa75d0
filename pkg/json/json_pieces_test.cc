#include "pkg/json/json_pieces.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

namespace yardmaster {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<std::pair<std::string, std::string>> MembersOf(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> members;
  EXPECT_TRUE(ForEachMemberText(text, [&](std::string_view key, std::string_view value) {
    members.emplace_back(key, value);
  })) << text;
  return members;
}

std::vector<std::string> ElementsOf(std::string_view text) {
  std::vector<std::string> elements;
  EXPECT_TRUE(ForEachElementText(text, [&](std::string_view value) {
    elements.emplace_back(value);
  })) << text;
  return elements;
}

TEST(JsonPiecesTest, MembersAndElementsAreCutWhereTheyEnd) {
  EXPECT_THAT(MembersOf(R"( {"a" : 1 ,"b":[1,{"c":"}]"}], "d\"e":"x,\\", "f":null} )"),
              ElementsAre(Pair("a", "1"), Pair("b", R"([1,{"c":"}]"}])"),
                          Pair("d\\\"e", R"("x,\\")"), Pair("f", "null")));
  EXPECT_THAT(ElementsOf("[ {}, [ ] ,\"]\", -1.5e3, true]"),
              ElementsAre("{}", "[ ]", "\"]\"", "-1.5e3", "true"));
  EXPECT_THAT(ElementsOf("[]"), ElementsAre());
  EXPECT_THAT(MembersOf("{ }"), ElementsAre());
}

TEST(JsonPiecesTest, WhatIsOfAnotherKindOrBrokenOffIsRefused) {
  for (const char* text :
       {"", "1", "[1", "[1,]", "[1 2]", "[\"a]", "[\"a\\\"]", "[{]", "[1]x", "[,]"}) {
    EXPECT_FALSE(ForEachElementText(text, [](std::string_view) {})) << text;
  }
  for (const char* text :
       {"", "[]", "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1,}", "{}x"}) {
    EXPECT_FALSE(ForEachMemberText(text, [](std::string_view, std::string_view) {})) << text;
  }
}

}  // namespace
}  // namespace yardmaster
