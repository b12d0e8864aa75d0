#include "pkg/api/parallelism_annotation.h"

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

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

TEST(ParallelismAnnotationTest, TheOrderOfTheKeysDoesNotMatter) {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    ParallelismAnnotation want;
    want.data_given = random.Below(2) == 0;
    std::vector<std::string> parts;
    auto add = [&](const char* key, int& size) {
      if (random.Below(3) == 0) return;
      size = 1 + static_cast<int>(random.Below(9));
      parts.push_back(StrCat(key, "=", size));
    };
    add("tp", want.parallelism.tensor);
    add("cp", want.parallelism.context);
    add("ep", want.parallelism.expert);
    add("pp", want.parallelism.pipeline);
    add("vpp", want.parallelism.virtual_pipeline);
    if (want.data_given) {
      want.parallelism.data = 1 + static_cast<int>(random.Below(9));
      parts.push_back(StrCat("dp=", want.parallelism.data));
    }
    random.Shuffle(want.parallelism.order);
    parts.push_back("order=" + workload::FormatOrder(want.parallelism.order));
    random.Shuffle(parts);
    const auto parsed = ParseParallelism(Join(parts, random.Below(2) == 0 ? "," : " ,\t"));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, want) << Join(parts, ",");
  }
}

TEST(ParallelismAnnotationTest, MoreGpusThanAnyFabricHasAreRefusedHoweverTheyAreSplit) {
  EXPECT_TRUE(ParseParallelism("tp=4096,pp=4096").ok());
  EXPECT_TRUE(ParseParallelism("tp=4096,pp=4096,vpp=1000000,ep=1000000").ok())
      << "chunks and experts lie inside other axes";
  for (const char* text : {"tp=4096,pp=4096,cp=2", "cp=2,tp=4096,pp=4096", "dp=1000000,tp=17",
                           "tp=1000000,pp=1000000,cp=1000000,dp=1000000"}) {
    const std::string message = MessageOf(ParseParallelism(text).status());
    EXPECT_NE(message.find("makes more than 16777216 GPUs"), std::string::npos) << message;
  }
}

TEST(ParallelismAnnotationTest, TheWrongPartIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"tp=8,xp=2", "\"xp=2\" has an unknown key"},
      {"tp=8,pp", "\"pp\" is not key=value"},
      {"tp=8, pp=4 ,tp=2", "\"tp=2\" is given twice"},
      {"tp=8,dp=1.5", "\"dp=1.5\" needs an integer from 1 to 1000000"},
      {"tp=8,dp=1000001", "\"dp=1000001\" needs an integer from 1 to 1000000"}};
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(MessageOf(ParseParallelism(text).status())
                  .rfind(StrCat("yardmaster.dev/parallelism: ", message), 0),
              0u)
        << text;
  }
}

}  // namespace
}  // namespace yardmaster::api
