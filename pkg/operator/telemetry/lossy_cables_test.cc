#include "pkg/operator/telemetry/lossy_cables.h"

#include "gmock/gmock.h"

#include "pkg/operator/testing/network_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class LossyCablesTest : public NetworkControllerTest {
 protected:
  std::string HostOfPod(const std::string& pod) const {
    return client_.Find(kube::Pods(), "team", pod).value()["spec"]["nodeName"];
  }
  void Report(const std::string& host, const json& ports) {
    Annotate(kube::Nodes(), "", host, api::kLossyPortsAnnotation, ports);
  }
  // Whether a connection of the pod's rail uses the plane; to `peer`, where it is given.
  bool Uses(const std::string& pod, int rail, int plane, const std::string& to = "") const {
    const api::PodPathPlan plan = PathsOf(pod);
    for (const api::RailPaths& of_rail : plan.rails) {
      for (const api::PeerPaths& peer : of_rail.peers) {
        if (!to.empty() && peer.host != HostOfPod(to)) continue;
        if (of_rail.rail == rail && peer.plane == plane) return true;
      }
    }
    return false;
  }
};

TEST_F(LossyCablesTest, ConnectionsUseTheOtherPortOfTheNicUntilItIsCleanAgain) {
  for (const char* gang : {"a", "b"}) AddGang(gang, 0, 1);
  RunUntilStable();
  const auto before = AllPorts();
  const std::string host = HostOfPod("a-1");
  Report(host, "r3p1=20000");
  EXPECT_EQ(Round().cables_lossy, 1);
  // The pod itself, the one that sends to it, and the one that answers it.
  EXPECT_EQ(WrittenPods(), (std::set<std::string>{"a-0", "a-1", "a-2"}));
  EXPECT_FALSE(Uses("a-1", 3, 1));
  EXPECT_TRUE(Uses("a-1", 3, 0));
  EXPECT_TRUE(Uses("a-1", 2, 1));
  for (const auto& [flow, ports] : AllPorts()) EXPECT_EQ(ports, before.at(flow)) << flow;

  const api::Condition condition = ConditionOf("LinksClean");
  EXPECT_EQ(condition.status, api::ConditionStatus::kFalse);
  EXPECT_THAT(condition.message, HasSubstr(StrCat(host, ":r3p1 (20000 frames of a million)")));
  EXPECT_EQ(ConditionOf("LinksUp").reason, "AllUp");
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(notices_[0].reason, "PacketLoss");
  EXPECT_TRUE(notices_[0].warning);

  Report(host, nullptr);
  Round();
  EXPECT_EQ(AllPorts(), before);
  EXPECT_EQ(ConditionOf("LinksClean").reason, "NoLoss");
  EXPECT_EQ(notices_.back().reason, "NoLoss");
}

TEST_F(LossyCablesTest, AConnectionWithoutAnotherWayKeepsItsPorts) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const auto before = AllPorts();
  // Both ports of a NIC; and of two that send to each other, one each.
  Report(HostOfPod("a-0"), "r3p0=20000,r3p1=20000,r5p0=100");
  Report(HostOfPod("a-1"), "r5p1=100");
  EXPECT_EQ(Round().cables_lossy, 4);
  EXPECT_TRUE(Uses("a-0", 3, 0));
  EXPECT_TRUE(Uses("a-0", 3, 1));
  EXPECT_TRUE(Uses("a-0", 5, 0, "a-1"));
  EXPECT_TRUE(Uses("a-0", 5, 1, "a-1"));
  // The way that is left has a port that loses packets.
  Report(HostOfPod("a-1"), nullptr);
  Annotate(kube::Nodes(), "", HostOfPod("a-1"), api::kDownPortsAnnotation, "r5p1");
  Round();
  EXPECT_TRUE(Uses("a-0", 5, 0, "a-1"));
  EXPECT_FALSE(Uses("a-0", 5, 1, "a-1"));
}

TEST_F(LossyCablesTest, ANodeSpeaksForPortsOfItsOwnAndForNoneThatAreDown) {
  const std::string host = HostOf(0, 0);
  AddGang("a", 0, 1);
  Report(host, "r0p1=7,r9p9=7,garbage,r1p0=0,r2p0=5");
  Annotate(kube::Nodes(), "", host, api::kDownPortsAnnotation, "r2p0");
  EXPECT_EQ(Round().cables_lossy, 1);
  EXPECT_THAT(ConditionOf("LinksClean").message, HasSubstr(host + ":r0p1 (7 frames"));
}

// 32 hosts have 512 ports.
TEST_F(LossyCablesTest, ReportsOfMoreThanATenthAreNotBelievedUntilTheyAreHalfAsMany) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const auto before = AllPorts();
  const json nodes = client_.All(kube::Nodes());
  ASSERT_EQ(nodes.size(), 32u);
  // One port of the first NICs of every host, as a wrong counter would.
  const auto report = [&](int count) {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      std::vector<std::string> ports;
      for (int rail = 0; rail < 8 && rail * 32 + static_cast<int>(n) < count; ++rail) {
        ports.push_back(StrCat("r", rail, "p1=9000"));
      }
      Report(nodes[n]["metadata"]["name"], ports.empty() ? json() : json(Join(ports, ",")));
    }
    return Round().cables_lossy;
  };
  EXPECT_EQ(report(256), 0);
  EXPECT_EQ(ConditionOf("LinksClean").reason, "SensorFault");
  EXPECT_EQ(AllPorts(), before);
  // Not even after a change of leader.
  EXPECT_EQ(report(26), 0);
  Start({});
  EXPECT_EQ(report(26), 0);
  EXPECT_EQ(report(25), 25);
  EXPECT_EQ(ConditionOf("LinksClean").reason, "PacketLoss");
  EXPECT_EQ(report(51), 51);
  EXPECT_NE(AllPorts(), before);
  EXPECT_EQ(report(52), 0);
  EXPECT_EQ(report(51), 0);
  EXPECT_EQ(AllPorts(), before);
}

}  // namespace
}  // namespace yardmaster::op
