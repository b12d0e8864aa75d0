#include "pkg/shim/json_cursor.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace yardmaster::shim {
namespace {

bool Skips(const std::string& text) {
  JsonCursor in(text.data(), text.size());
  return in.Skip() && in.AtEnd();
}

TEST(JsonCursorTest, AnyValueIsSkippedWhole) {
  for (const char* text :
       {"1", "-2.5e3", "\"a\"", "true", "false", "null", "[]", "{}", "[1,[2,{}],\"x\"]",
        R"({"a":{"b":[1,2,{"c":null}]},"d":"e\"f\\g\u0041"})", " [ 1 , 2 ] ", "[[],[]]"}) {
    EXPECT_TRUE(Skips(text)) << text;
  }
}

TEST(JsonCursorTest, WhatIsNotJsonIsRefused) {
  for (const char* text : {"",
                           "[",
                           "]",
                           "{",
                           "}",
                           "[1",
                           "[1,]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{a:1}",
                           "\"a",
                           "\"\\",
                           "\"\\u12\"",
                           "tru",
                           "1 2",
                           "[1 2]",
                           "{\"a\":1 \"b\":2}",
                           "{\"a\":1,}",
                           "[1}",
                           "\"a\nb\""}) {
    EXPECT_FALSE(Skips(text)) << text;
  }
}

TEST(JsonCursorTest, DeepNestingEndsAndDoesNotRecurse) {
  EXPECT_FALSE(Skips(std::string(100'000, '[')));
  EXPECT_TRUE(Skips(std::string(30, '[') + std::string(30, ']')));
}

TEST(JsonCursorTest, MembersAndElementsAreReadInOrder) {
  const std::string text = R"({"numbers":[1,-2,3],"unknown":{"x":[1]},"name":"long name"})";
  JsonCursor in(text.data(), text.size());
  char key[16], name[5] = {};
  std::string keys;
  std::int64_t sum = 0;
  ASSERT_TRUE(in.EnterObject());
  while (in.NextKey(key, sizeof key)) {
    keys += key;
    if (std::strcmp(key, "numbers") == 0) {
      ASSERT_TRUE(in.EnterArray());
      std::int64_t value = 0;
      while (in.NextElement() && in.Integer(&value)) sum += value;
    } else if (std::strcmp(key, "name") == 0) {
      EXPECT_TRUE(in.String(name, sizeof name));
    } else {
      EXPECT_TRUE(in.Skip());
    }
  }
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.AtEnd());
  EXPECT_EQ(keys, "numbersunknownname");
  EXPECT_EQ(sum, 2);
  EXPECT_STREQ(name, "long");
}

TEST(JsonCursorTest, NumbersThatDoNotFitAreRefused) {
  for (const char* text : {"9223372036854775808", "1.5", "1e3", "-", "x"}) {
    JsonCursor in(text, std::strlen(text));
    std::int64_t value = 0;
    EXPECT_FALSE(in.Integer(&value)) << text;
  }
}

}  // namespace
}  // namespace yardmaster::shim
