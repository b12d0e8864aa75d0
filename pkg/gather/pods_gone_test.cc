#include "pkg/gather/pods_gone.h"

#include "gtest/gtest.h"

namespace yardmaster::gather {
namespace {

api::GangStatus GoneSince(std::int64_t ms) {
  api::GangStatus status;
  api::SetCondition(status.conditions,
                    {api::kPodsGoneCondition, api::ConditionStatus::kTrue, "NoPods", "", 0, 0}, ms);
  return status;
}

TEST(PodsGoneTest, TheClockIsTheTransitionOfTheCondition) {
  EXPECT_EQ(PodsGoneSinceMs({}, 9'000), std::nullopt);
  EXPECT_EQ(PodsGoneSinceMs(GoneSince(5'000), 9'000), 5'000);
  EXPECT_EQ(PodsGoneSinceMs(GoneSince(5'000), 5'000), 5'000);
}

TEST(PodsGoneTest, ATimeInTheFutureIsNoClock) {
  EXPECT_EQ(PodsGoneSinceMs(GoneSince(86'400'000), 9'000), std::nullopt);
}

TEST(PodsGoneTest, PodsThatCameBackEndIt) {
  api::GangStatus status = GoneSince(5'000);
  api::SetCondition(status.conditions,
                    {api::kPodsGoneCondition, api::ConditionStatus::kFalse, "PodOnNode", "", 0, 0},
                    7'000);
  EXPECT_EQ(PodsGoneSinceMs(status, 9'000), std::nullopt);
}

TEST(PodsGoneTest, HostsAreKeptForAsLongAsTheyWereHeldWithinBounds) {
  api::GangStatus status;
  status.committed_ms = 1'000'000;
  EXPECT_EQ(KeepsHostsForMs(status, 1'000'500), 15'000) << "placed to hold hosts";
  EXPECT_EQ(KeepsHostsForMs(status, 1'040'000), 40'000);
  EXPECT_EQ(KeepsHostsForMs(status, 9'000'000), 60'000) << "a job that ran and restarts";
  EXPECT_EQ(KeepsHostsForMs(status, 900'000), 15'000) << "the clock was set back";
}

TEST(PodsGoneTest, AGangThatHadLostAHostKeepsTheOthersForLonger) {
  const auto set = [](api::GangStatus& status, const char* type, bool holds, const char* reason) {
    const auto is = holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse;
    api::SetCondition(status.conditions, {type, is, reason, "", 0, 0}, 1'000);
  };
  api::GangStatus status;
  status.committed_ms = 1'000'000;
  set(status, api::kDegradedCondition, true, "HostLost");
  EXPECT_EQ(KeepsHostsForMs(status, 9'000'000), 300'000);
  EXPECT_EQ(KeepsHostsForMs(status, 1'040'000), 40'000) << "not longer than it had them";
  set(status, api::kPodsGoneCondition, true, "NoPods");
  EXPECT_EQ(KeepsHostsForMs(status, 9'000'000), 60'000) << "its pods went before";
  set(status, api::kPodsGoneCondition, true, kPodsGoneAfterLoss);
  set(status, api::kDegradedCondition, false, "HostsHealthy");
  EXPECT_EQ(KeepsHostsForMs(status, 9'000'000), 300'000) << "the host is back meanwhile";
}

}  // namespace
}  // namespace yardmaster::gather
