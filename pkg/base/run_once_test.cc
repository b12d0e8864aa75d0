#include "pkg/base/run_once.h"

#include <stdexcept>

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

TEST(RunOnceTest, WhatThrowsIsAFailureThatSaysWhy) {
  const absl::Status status = Contain([] { throw std::runtime_error("type must be string"); });
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_TRUE(IsDefect(status));
  EXPECT_NE(status.message().find("type must be string"), std::string::npos) << status;
  EXPECT_TRUE(absl::IsInternal(Contain([]() -> absl::Status { throw 5; })));
}

TEST(RunOnceTest, WhatDoesNotThrowKeepsItsResult) {
  int calls = 0;
  EXPECT_TRUE(Contain([&] { ++calls; }).ok());
  EXPECT_EQ(calls, 1);
  const absl::Status returned = Contain([] { return absl::InternalError("x"); });
  EXPECT_TRUE(absl::IsInternal(returned));
  EXPECT_FALSE(IsDefect(returned));
}

TEST(RunOnceTest, TheEarliestTimeToRunAgainCounts) {
  RunResult result;
  EXPECT_FALSE(result.again_ms.has_value());
  result.Again(500);
  result.Again(20);
  result.Again(900);
  EXPECT_EQ(result.again_ms, 20);
}

}  // namespace
}  // namespace yardmaster
