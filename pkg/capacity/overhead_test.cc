#include "pkg/capacity/overhead.h"

#include <cmath>

#include "gtest/gtest.h"

namespace yardmaster::capacity {
namespace {

TEST(OverheadTest, NoIntervalLosesLessThanYoungs) {
  const Interruptions interruptions{.unannounced_per_hour = 0.1};
  CheckpointCost cost{.checkpoint_seconds = 90, .restart_seconds = 240};
  const double best = LostShare(cost, interruptions);
  const double interval = BestIntervalSeconds(90, 0.1);
  EXPECT_NEAR(interval, std::sqrt(2 * 90 * 36000.0), 1e-9);
  for (const double factor : {0.25, 0.5, 0.9, 1.1, 2.0, 4.0}) {
    cost.interval_seconds = interval * factor;
    EXPECT_GT(LostShare(cost, interruptions), best) << factor;
  }
}

TEST(OverheadTest, ANoticeSavesTheRepeatedWork) {
  const CheckpointCost cost{.checkpoint_seconds = 60, .restart_seconds = 120};
  const double announced = LostShare(cost, {.announced_per_hour = 0.5});
  EXPECT_NEAR(announced, 0.5 * 180 / 3600, 1e-12);
  EXPECT_LT(announced, LostShare(cost, {.unannounced_per_hour = 0.5}));
}

TEST(OverheadTest, WithoutInterruptionsOnlyTheJobsOwnCheckpointsCost) {
  CheckpointCost cost{.checkpoint_seconds = 30, .restart_seconds = 120};
  EXPECT_EQ(LostShare(cost, {}), 0);
  cost.interval_seconds = 300;
  EXPECT_NEAR(LostShare(cost, {}), 0.1, 1e-12);
}

}  // namespace
}  // namespace yardmaster::capacity
