#include "pkg/operator/hosts/node_faults.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/operator/hosts/host_health.h"

namespace yardmaster::op {
namespace {

using testing::HasSubstr;

api::Node NodeWith(std::vector<std::pair<std::string, std::string>> conditions,
                   std::vector<std::string> taints = {}) {
  api::Node node;
  node.metadata.name = "n";
  node.conditions = std::move(conditions);
  for (std::string& key : taints) node.taints.push_back({std::move(key), ""});
  return node;
}

TEST(NodeFaultsTest, ConditionsOfKnownDetectorsAreFaultsInTheirBadStatusOnly) {
  const auto rules = DefaultFaultRules();
  EXPECT_TRUE(
      FaultsOf(NodeWith({{"KernelDeadlock", "False"}, {"KernelReady", "True"}}), 2, rules).empty());
  const auto faults = FaultsOf(
      NodeWith({{"KernelDeadlock", "True"}, {"KernelReady", "False"}, {"Unknown", "True"}}), 2,
      rules);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].name, "condition KernelDeadlock True");
  EXPECT_EQ(faults[0].action, FaultAction::kReplace);
  EXPECT_EQ(faults[1].action, FaultAction::kDegrade);
}

TEST(NodeFaultsTest, TaintsOfNodesThatAreAboutToGoDrainThem) {
  const auto faults =
      FaultsOf(NodeWith({}, {"karpenter.sh/disrupted", "team"}), 2, DefaultFaultRules());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].action, FaultAction::kDrain);
  EXPECT_EQ(faults[0].after_ms, 0);
}

TEST(NodeFaultsTest, WhatNvSentinelHasRepairedDrainsTheHostAndWhatItOnlySeesDoesNot) {
  const auto faults = FaultsOf(NodeWith({{"GpuMemWatch", "True"},
                                         {"GpuNvlinkWatch", "False"},
                                         {"GpuThermalWatch", "True"},
                                         {"SysLogsGPUFallenOff", "True"}},
                                        {"nvidia.com/gpu-xid-error", "nvidia.com/gpu"}),
                               2, DefaultFaultRules());
  EXPECT_EQ(faults, (std::vector<NodeFault>{
                        {"condition GpuMemWatch True", FaultAction::kDrain, 60'000},
                        {"condition GpuThermalWatch True", FaultAction::kDegrade, 60'000},
                        {"condition SysLogsGPUFallenOff True", FaultAction::kReplace, 60'000},
                        {"taint nvidia.com/gpu-xid-error", FaultAction::kDrain, 0}}));
}

TEST(NodeFaultsTest, PlannedMaintenanceIsShownAndADrainThatHasBegunIsFollowed) {
  const auto faults = FaultsOf(NodeWith({{"MaintenancePlanned", "True"},
                                         {"DrainInProgress", "True"},
                                         {"Drained", "False"},
                                         {"MaintenanceInProgress", "Unknown"}}),
                               2, DefaultFaultRules());
  EXPECT_EQ(faults, (std::vector<NodeFault>{
                        {"condition DrainInProgress True", FaultAction::kDrain, 0},
                        {"condition MaintenancePlanned True", FaultAction::kDegrade, 0}}));
}

TEST(NodeFaultsTest, ARailIsDownWhenEveryPortOfItsNicIs) {
  api::Node node = NodeWith({});
  node.metadata.annotations[api::kDownPortsAnnotation] = "r0p1,r3p0,r3p1";
  const auto faults = FaultsOf(node, 2, DefaultFaultRules());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].name, "rail 3 down");
  EXPECT_EQ(faults[0].after_ms, 120'000) << "links come back in two minutes";
  EXPECT_TRUE(FaultsOf(node, 0, DefaultFaultRules()).empty()) << "ports of a NIC are not known";
}

TEST(NodeFaultsTest, TheFirstRuleThatMatchesDecidesAndAStarMatchesABeginning) {
  const auto rules = ParseFaultRules(R"(rules:
- {taint: cloud/ok, action: Ignore}
- {taint: cloud/*, action: Replace, afterSeconds: 5}
- {condition: Fan, status: "Unknown", action: Degrade}
)",
                                     "faults.yaml");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const auto faults =
      FaultsOf(NodeWith({{"Fan", "Unknown"}}, {"cloud/ok", "cloud/bad", "clou"}), 2, *rules);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].name, "condition Fan Unknown");
  EXPECT_EQ(faults[1], (NodeFault{"taint cloud/bad", FaultAction::kReplace, 5'000}));
}

TEST(NodeFaultsTest, AWrongTableNamesEveryWrongFieldAndTheFix) {
  const auto rules = ParseFaultRules(R"(rules:
- {taint: a, condition: b, action: Drain}
- {condition: c, action: Explode}
- {condition: d, status: "Yes", action: Drain, afterSeconds: -1}
)",
                                     "faults.yaml");
  ASSERT_FALSE(rules.ok());
  const std::string text(rules.status().message());
  EXPECT_THAT(text, HasSubstr("faults.yaml"));
  EXPECT_THAT(text, HasSubstr("rules[0]"));
  EXPECT_THAT(text, HasSubstr("rules[1].action"));
  EXPECT_THAT(text, HasSubstr("rules[2].status"));
  EXPECT_THAT(text, HasSubstr("rules[2].afterSeconds"));
}

class FaultyHostsTest : public ::testing::Test {
 protected:
  FaultyHostsTest() {
    for (int i = 0; i < 100; ++i) {
      health_.Observe(Name(i), "s", HostHealth::Report::kReady, 0);
    }
  }
  static std::string Name(int i) { return "n" + std::to_string(i); }
  void Fault(int host, FaultAction action, std::int64_t now_ms, std::int64_t after_ms = 60'000) {
    health_.ObserveFaults(Name(host), {{"condition X True", action, after_ms}}, now_ms);
  }
  HostVerdict Assess(int host, std::int64_t now_ms) {
    return health_.Assess(Name(host), 10'000, now_ms);
  }

  HostHealth health_;
};

TEST_F(FaultyHostsTest, AFaultCountsAfterItHasHeldForItsTimeWithoutAPause) {
  Fault(0, FaultAction::kDrain, 0);
  EXPECT_EQ(Assess(0, 30'000).state, HostHealthState::kHealthy);
  EXPECT_EQ(Assess(0, 30'000).again_ms, 30'000);
  health_.ObserveFaults(Name(0), {}, 40'000);
  Fault(0, FaultAction::kDrain, 50'000);
  EXPECT_EQ(Assess(0, 70'000).state, HostHealthState::kHealthy);
  const HostVerdict verdict = Assess(0, 110'000);
  EXPECT_EQ(verdict.state, HostHealthState::kLost);
  EXPECT_TRUE(verdict.reachable());
  EXPECT_EQ(verdict.fault_name, "condition X True");
}

TEST_F(FaultyHostsTest, AFaultThatOnlyDegradesMovesNothing) {
  Fault(0, FaultAction::kDegrade, 0);
  const HostVerdict verdict = Assess(0, 3'600'000);
  EXPECT_EQ(verdict.state, HostHealthState::kHealthy);
  EXPECT_EQ(verdict.fault, FaultAction::kDegrade);
}

TEST_F(FaultyHostsTest, NoMoreHostsAreDrainedAMinuteThanTheLimitAndNodeUpdatesDoNotCount) {
  for (int i = 0; i < 8; ++i) Fault(i, FaultAction::kDrain, 0);
  const auto drained = [&](std::int64_t now_ms) {
    int count = 0;
    for (int i = 0; i < 8; ++i) {
      health_.Observe(Name(i), "s", HostHealth::Report::kReady, now_ms);  // a heartbeat
      count += Assess(i, now_ms).state == HostHealthState::kLost ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(drained(60'000), 4);
  EXPECT_EQ(drained(60'000), 4);
  EXPECT_EQ(drained(121'000), 8);
}

TEST_F(FaultyHostsTest, ADetectorThatBlamesALargeShareOfTheHostsIsNotTrusted) {
  for (int i = 0; i < 30; ++i) Fault(i, FaultAction::kReplace, 0);
  const HostVerdict verdict = Assess(0, 3'600'000);
  EXPECT_EQ(verdict.state, HostHealthState::kHeld);
  EXPECT_THAT(verdict.reason, HasSubstr("full disruption"));
}

TEST_F(FaultyHostsTest, ANewLeaderTrustsNoTimeThatItDidNotObserve) {
  Fault(0, FaultAction::kDrain, 0);
  health_.Restart(50'000);
  EXPECT_EQ(Assess(0, 60'000).state, HostHealthState::kHealthy);
  EXPECT_EQ(Assess(0, 110'000).state, HostHealthState::kLost);
}

}  // namespace
}  // namespace yardmaster::op
