#include "pkg/base/token_bucket.h"

#include <gtest/gtest.h>

#include "pkg/base/backoff.h"

namespace yardmaster {
namespace {

TEST(TokenBucketTest, ABurstGoesAtOnceAndThenTheRateBoundsWhatGoes) {
  TokenBucket bucket(10, 5);
  EXPECT_EQ(bucket.Take(8, 1000), 5u);
  EXPECT_EQ(bucket.Take(1, 1050), 0u);
  EXPECT_EQ(bucket.Take(1, 1100), 1u);
  // An hour without calls saves up a burst and no more.
  EXPECT_EQ(bucket.Take(100, 3'601'100), 5u);
}

TEST(TokenBucketTest, WaitingCallersAreServedOneAfterTheOther) {
  TokenBucket bucket(10, 1);
  EXPECT_EQ(bucket.Reserve(0, 1000), 0);
  EXPECT_EQ(bucket.Reserve(0, 1000), 100);
  EXPECT_EQ(bucket.Reserve(0, 1000), 200);
  EXPECT_EQ(bucket.Take(1, 100), 0u) << "the token of that moment is promised to the second caller";
}

TEST(TokenBucketTest, ACallerThatWouldWaitTooLongTakesNoToken) {
  TokenBucket bucket(10, 1);
  EXPECT_EQ(bucket.Reserve(0, 0), 0);
  EXPECT_EQ(bucket.Reserve(0, 50), 100);
  EXPECT_EQ(bucket.Reserve(0, 100), 100);
}

TEST(TokenBucketTest, ATimeThatGoesBackGivesNoTokens) {
  TokenBucket bucket(10, 1);
  EXPECT_EQ(bucket.Take(1, 1000), 1u);
  EXPECT_EQ(bucket.Take(1, 0), 0u);
  EXPECT_EQ(bucket.Take(1, 1050), 0u);
  EXPECT_EQ(bucket.Take(1, 1100), 1u);
}

TEST(BackoffTest, DelaysDoubleFromTheFirstToTheLargest) {
  const BackoffLimits limits{250, 1000};
  EXPECT_EQ(NextDelayMs(0, limits), 250);
  EXPECT_EQ(NextDelayMs(250, limits), 500);
  EXPECT_EQ(NextDelayMs(500, limits), 1000);
  EXPECT_EQ(NextDelayMs(1000, limits), 1000);
}

TEST(BackoffTest, ADelayOfOtherLimitsIsBroughtBetweenThese) {
  EXPECT_EQ(NextDelayMs(10, {250, 1000}), 250);
  EXPECT_EQ(NextDelayMs(INT64_MAX, {250, 1000}), 1000);
}

}  // namespace
}  // namespace yardmaster
