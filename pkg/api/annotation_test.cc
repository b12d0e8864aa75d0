#include "pkg/api/annotation.h"

#include "gtest/gtest.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {
namespace {

TEST(AnnotationTest, AnObjectOfTheVersionIsReadWhole) {
  const auto object = ParseAnnotation(R"({"version":3,"a":[1]})", 3);
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ((*object)["a"][0], 1);
}

TEST(AnnotationTest, AnotherVersionNamesBoth) {
  EXPECT_EQ(MessageOf(ParseAnnotation(R"({"version":4})", 3).status()),
            "version: is 4, this program reads 3; run equal versions of all parts");
  for (const char* text : {"{}", R"({"version":null})", R"({"version":-3})", R"({"version":"3"})",
                           R"({"version":3.5})"}) {
    EXPECT_EQ(MessageOf(ParseAnnotation(text, 3).status()).rfind("version: ", 0), 0u) << text;
  }
}

TEST(AnnotationTest, WhatIsNoObjectIsRefused) {
  for (const char* text : {"", "[]", "3", "null", "{", R"({"version":3}})", "\xFF"}) {
    EXPECT_FALSE(ParseAnnotation(text, 3).ok()) << text;
  }
}

TEST(AnnotationTest, OurShareOfAPodsAnnotationsIsTheLimit) {
  const std::string begin = R"({"version":3,"a":")", end = "\"}";
  const std::string filler(kMaxAnnotationBytes - begin.size() - end.size(), 'x');
  EXPECT_TRUE(ParseAnnotation(begin + filler + end, 3).ok());
  EXPECT_EQ(MessageOf(ParseAnnotation(begin + filler + "x" + end, 3).status()),
            StrCat("annotation of ", kMaxAnnotationBytes + 1, " bytes is longer than ",
                   kMaxAnnotationBytes));
}

}  // namespace
}  // namespace yardmaster::api
