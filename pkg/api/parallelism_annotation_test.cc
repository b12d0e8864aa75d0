#include "pkg/api/parallelism_annotation.h"

#include "gtest/gtest.h"

namespace yardmaster::api {
namespace {

TEST(ParallelismAnnotationTest, ReadsSizesAndOrder) {
  auto parsed = ParseParallelism("tp=8, pp=4 ,dp=16,ep=2,order=tp-cp-pp-ep-dp");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->parallelism.tensor, 8);
  EXPECT_EQ(parsed->parallelism.pipeline, 4);
  EXPECT_EQ(parsed->parallelism.data, 16);
  EXPECT_EQ(parsed->parallelism.expert, 2);
  EXPECT_EQ(workload::FormatOrder(parsed->parallelism.order), "tp-cp-pp-ep-dp");
  EXPECT_TRUE(parsed->data_given);
  EXPECT_FALSE(ParseParallelism("tp=8")->data_given);
}

TEST(ParallelismAnnotationTest, WhatIsWrongIsShownWithTheFix) {
  for (const char* text : {"", "tp", "tp=", "tp=0", "tp=x", "tp=8,tp=8", "xp=3", "tp=99999999999",
                           "order=tp-tp", "tp=8,,dp=1"}) {
    auto parsed = ParseParallelism(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(MessageOf(parsed.status()).find("tp=8,pp=4,dp=16"), std::string::npos);
  }
}

}  // namespace
}  // namespace yardmaster::api
