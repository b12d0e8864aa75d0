#include "pkg/state/release_rule.h"

#include "pkg/api/refusals.h"
#include "pkg/state/job_index.h"
#include "pkg/state/testing/snapshot_fixture.h"

namespace yardmaster::state {
namespace {

api::GangStatus OnHosts(const std::vector<std::string>& hosts) {
  api::GangStatus status;
  status.plan_generation = 1;
  for (const std::string& host : hosts) {
    status.assignments.push_back(
        {static_cast<int>(status.assignments.size()), host, "p0", "a", {0}});
  }
  return status;
}

TEST(ReleaseRuleTest, AGangHoldsItsHostsUntilItHasFinished) {
  api::GangStatus status = OnHosts({"a0"});
  EXPECT_TRUE(HoldsHosts(status));
  api::SetCondition(status.conditions,
                    {kFinishedCondition, api::ConditionStatus::kTrue, "OwnerFinished", "", 1, 0},
                    1'000);
  EXPECT_TRUE(IsFinished(status));
  EXPECT_FALSE(HoldsHosts(status));
  EXPECT_FALSE(HoldsHosts({}));
}

TEST(ReleaseRuleTest, PodsOnOneHostWaitForNoNetworkPlan) {
  EXPECT_TRUE(SpansHosts(OnHosts({"a0", "a0", "a1"})));
  EXPECT_FALSE(SpansHosts(OnHosts({"a0", "a0"})));
  EXPECT_FALSE(SpansHosts({}));
}

TEST_F(SnapshotBuilderTest, APodIsSentToItsSlotsHostWhileThatCanBeUsed) {
  nodes_[1].unschedulable = true;
  plan::Snapshot snapshot = Build();
  snapshot.now_ms = 10'000'000;
  api::GangStatus status = OnHosts({nodes_[0].metadata.name, nodes_[1].metadata.name, "gone"});
  const placement::HostState* host = ReleaseHost(status, 0, snapshot);
  ASSERT_NE(host, nullptr);
  EXPECT_FALSE(host->backup);
  EXPECT_EQ(ReleaseHost(status, 1, snapshot), nullptr) << "cordoned";
  EXPECT_EQ(ReleaseHost(status, 2, snapshot), nullptr) << "not known";
  EXPECT_EQ(ReleaseHost(status, 3, snapshot), nullptr) << "no slot";
  EXPECT_EQ(ReleaseHost(status, -1, snapshot), nullptr);
  AddRefusal(status, 0, nodes_[0].metadata.name, "no", snapshot.now_ms);
  EXPECT_EQ(ReleaseHost(status, 0, snapshot), nullptr) << "refused";
}

}  // namespace
}  // namespace yardmaster::state
