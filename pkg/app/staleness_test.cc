#include "pkg/app/staleness.h"

#include "gtest/gtest.h"

#include "pkg/base/status.h"

namespace yardmaster::app {
namespace {

TEST(StalenessTest, RecentContactIsReady) {
  EXPECT_TRUE(CheckStaleness({100'000, 50'000}, {20'000, 150'000}, 120'000).ok());
}

TEST(StalenessTest, AServerThatDoesNotAnswerIsNamedWithItsSilence) {
  const absl::Status status = CheckStaleness({100'000, 119'000}, {20'000, 150'000}, 123'000);
  EXPECT_EQ(MessageOf(status), "no answer from the API server for 23 s; the limit is 20 s");
}

TEST(StalenessTest, ASilentWatchIsNamedAlthoughOtherCallsAreAnswered) {
  const absl::Status status = CheckStaleness({299'000, 100'000}, {20'000, 150'000}, 300'000);
  EXPECT_EQ(MessageOf(status), "a watch has brought nothing for 200 s; the limit is 150 s");
}

TEST(StalenessTest, BeforeTheFirstContactNothingIsReady) {
  EXPECT_FALSE(CheckStaleness({-1, -1}, {}, 1'000).ok());
  EXPECT_FALSE(CheckStaleness({1'000, -1}, {}, 1'000).ok());
}

TEST(StalenessTest, SilenceCountsFromTheLastContactOrFromTheStart) {
  EXPECT_EQ(SilenceSeconds(119'000, 100'000, 121'500), 2.5);
  EXPECT_EQ(SilenceSeconds(-1, 100'000, 121'500), 21.5);
}

}  // namespace
}  // namespace yardmaster::app
