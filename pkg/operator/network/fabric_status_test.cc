#include "pkg/operator/network/fabric_status.h"

#include "gtest/gtest.h"

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::op {
namespace {

plan::Snapshot MakeSnapshot() {
  plan::Snapshot snapshot;
  const fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
  snapshot.places = std::make_shared<const fabric::Places>(fabric::PlacesOf(spec));
  snapshot.network = std::make_shared<const fabric::Network>(
      fabric::Network::Build(spec, snapshot.places).value());
  snapshot.cluster.hosts.resize(8);
  snapshot.cluster.hosts[3].backup = true;
  return snapshot;
}

api::Fabric MakeFabric() {
  api::Fabric fabric;
  fabric.metadata.name = "f";
  fabric.metadata.generation = 4;
  return fabric;
}

TEST(FabricStatusTest, AFabricInUseCountsItsPlacesAndIsReady) {
  const api::FabricStatus status = StatusOf(MakeFabric(), MakeSnapshot(), true, 1000);
  EXPECT_EQ(status.segments, 2);
  EXPECT_EQ(status.hosts, 8);
  EXPECT_EQ(status.backup_hosts, 1);
  EXPECT_EQ(status.observed_generation, 4);
  EXPECT_TRUE(api::IsTrue(status.conditions, "Ready"));
}

TEST(FabricStatusTest, AFabricThatDoesNotAddUpSaysWhy) {
  plan::Snapshot snapshot = MakeSnapshot();
  snapshot.network = nullptr;
  snapshot.warnings = {"Node x: other", "Fabric f: spec.tiers: is empty; describe it"};
  const api::FabricStatus status = StatusOf(MakeFabric(), snapshot, true, 1000);
  const api::Condition* ready = api::FindCondition(status.conditions, "Ready");
  ASSERT_NE(ready, nullptr);
  EXPECT_EQ(ready->status, api::ConditionStatus::kFalse);
  EXPECT_EQ(ready->message, "spec.tiers: is empty; describe it");
}

TEST(FabricStatusTest, LabelsOfDomainsThatContradictAreNamedUntilTheyDoNot) {
  plan::Snapshot snapshot = MakeSnapshot();
  api::Fabric fabric = MakeFabric();
  fabric.status = StatusOf(fabric, snapshot, true, 1000);
  EXPECT_EQ(api::FindCondition(fabric.status.conditions, kDomainsConsistentCondition), nullptr);

  std::vector<fabric::HostPlace> places;
  for (fabric::HostId host : snapshot.places->hosts()) {
    const fabric::SegmentId segment = snapshot.places->segment_of(host);
    places.push_back({snapshot.places->name(host), "p0", snapshot.places->name(segment), {}});
    places.back().domain = "d";
  }
  snapshot.places = std::make_shared<const fabric::Places>(fabric::Places::Build(places).value());
  fabric.status = StatusOf(fabric, snapshot, true, 2000);
  const api::Condition* consistent =
      api::FindCondition(fabric.status.conditions, kDomainsConsistentCondition);
  ASSERT_NE(consistent, nullptr);
  EXPECT_EQ(consistent->reason, "LabelsContradict");
  EXPECT_NE(consistent->message.find("the parts count as two domains"), std::string::npos)
      << consistent->message;
  fabric.status = StatusOf(fabric, MakeSnapshot(), true, 3000);
  EXPECT_TRUE(api::IsTrue(fabric.status.conditions, kDomainsConsistentCondition));
}

TEST(FabricStatusTest, ClassesOfDevicesThatCannotBeCountedAreNamedUntilTheyCan) {
  plan::Snapshot snapshot = MakeSnapshot();
  api::Fabric fabric = MakeFabric();
  fabric.status = StatusOf(fabric, snapshot, true, 1000);
  EXPECT_EQ(api::FindCondition(fabric.status.conditions, kDevicesCountedCondition), nullptr);

  snapshot.warnings = {"Node x: other", "DeviceClass gpu: spec.selectors: cannot be evaluated"};
  fabric.status = StatusOf(fabric, snapshot, true, 2000);
  const api::Condition* counted =
      api::FindCondition(fabric.status.conditions, kDevicesCountedCondition);
  ASSERT_NE(counted, nullptr);
  EXPECT_EQ(counted->status, api::ConditionStatus::kFalse);
  EXPECT_EQ(counted->message, snapshot.warnings[1]);

  snapshot.warnings.clear();
  fabric.status = StatusOf(fabric, snapshot, true, 3000);
  EXPECT_TRUE(api::IsTrue(fabric.status.conditions, kDevicesCountedCondition));
}

TEST(FabricStatusTest, ASecondFabricIsNotUsedAndCountsNothing) {
  const api::FabricStatus status = StatusOf(MakeFabric(), MakeSnapshot(), false, 1000);
  EXPECT_EQ(status.hosts, 0);
  EXPECT_FALSE(api::IsTrue(status.conditions, "Ready"));
  EXPECT_EQ(api::FindCondition(status.conditions, "Ready")->reason, "Unused");
}

TEST(FabricStatusTest, WhereNoAgentReportsItSaysWhichLabelTheChartHasToName) {
  api::FabricStatus status;
  AddAgentsCondition(false, "example.com/leaf", 4, 1000, status);
  const api::Condition* condition = api::FindCondition(status.conditions, kAgentsReportCondition);
  EXPECT_EQ(condition->reason, "NoneReports");
  EXPECT_NE(condition->message.find("example.com/leaf"), std::string::npos);
  EXPECT_EQ(condition->observed_generation, 4);
  AddAgentsCondition(true, "example.com/leaf", 4, 2000, status);
  EXPECT_TRUE(api::IsTrue(status.conditions, kAgentsReportCondition));
}

TEST(FabricStatusTest, TheConditionsOfTheNetworkNameWhatIsWrong) {
  NetworkHealth health;
  api::FabricStatus status;
  AddNetworkConditions({}, health, 4, 1000, status);
  EXPECT_EQ(api::FindCondition(status.conditions, kLinksUpCondition)->reason, "AllUp");
  EXPECT_EQ(api::FindCondition(status.conditions, kPathsPlannedCondition)->reason, "Planned");
  for (int i = 0; i < 20; ++i) health.down.push_back("cable" + std::to_string(i));
  health.links_problem = "no such switch";
  health.unplanned_flows = 3;
  health.unplanned_reason = "per packet";
  repac::RoleTrust wrong;
  wrong.role = "tor";
  wrong.verdict = repac::TrustVerdict::kMistrusted;
  wrong.example = "took another link";
  health.evidence.roles = {wrong};
  AddNetworkConditions({}, health, 4, 2000, status);
  const api::Condition* links = api::FindCondition(status.conditions, kLinksUpCondition);
  EXPECT_EQ(links->message.find("no such switch; 20 cables down: cable0, "), 0u) << links->message;
  EXPECT_NE(links->message.find("and 12 more"), std::string::npos);
  EXPECT_EQ(links->transition_ms, 2000);
  EXPECT_EQ(api::FindCondition(status.conditions, kPathsTrustedCondition)
                ->message.find("tor: took another link"),
            0u);
  EXPECT_NE(api::FindCondition(status.conditions, kPathsPlannedCondition)->message.find("per pack"),
            std::string::npos);
  health.hashes_problem = "spec.ecmpHashOverrides: there is no such switch";
  AddNetworkConditions({}, health, 4, 2000, status);
  const api::Condition* planned = api::FindCondition(status.conditions, kPathsPlannedCondition);
  EXPECT_EQ(planned->reason, "HashesInvalid");
  EXPECT_NE(planned->message.find("no such switch"), std::string::npos) << planned->message;
  const auto before = status;
  AddNetworkConditions({}, health, 4, 3000, status);
  EXPECT_EQ(status, before);
}

TEST(FabricStatusTest, PacketLossIsAConditionOnceAPortHasLostSome) {
  NetworkHealth health;
  api::FabricStatus status;
  const auto clean = [&](const fabric::FabricSpec& spec = {}) {
    AddNetworkConditions(spec, health, 4, 1000, status);
    return api::FindCondition(status.conditions, kLinksCleanCondition);
  };
  EXPECT_EQ(clean(), nullptr);
  health.lossy.distrusted = 40;
  EXPECT_EQ(clean()->status, api::ConditionStatus::kUnknown);
  EXPECT_EQ(clean()->reason, "SensorFault");
  health.lossy = {{fabric::CableId(3)}, {"n1:r0p1 (20000 frames of a million)"}, 0};
  EXPECT_EQ(clean()->reason, "PacketLoss");
  EXPECT_EQ(clean()->message.find(
                "frames arrive damaged at n1:r0p1 (20000 frames of a million); connections use"),
            0u)
      << clean()->message;
  fabric::FabricSpec spraying;
  spraying.nic_spraying = true;
  EXPECT_NE(clean(spraying)->message.find("the NICs spray"), std::string::npos);
  EXPECT_EQ(clean()->message.find("nothing steers"), std::string::npos) << clean()->message;
  repac::RoleTrust wrong;
  wrong.verdict = repac::TrustVerdict::kMistrusted;
  health.evidence.roles = {wrong};
  EXPECT_NE(clean()->message.find("except those without a source port, which nothing steers"),
            std::string::npos)
      << clean()->message;
  health.evidence.roles = {};
  health.unplanned_flows = 1;
  EXPECT_NE(clean()->message.find("nothing steers"), std::string::npos) << clean()->message;
  health.hashes_problem = "no role has a hash";
  EXPECT_NE(clean()->message.find("connections have no source ports and go on using these ports"),
            std::string::npos)
      << clean()->message;
  health.lossy = {};
  EXPECT_EQ(clean()->reason, "NoLoss");
  EXPECT_EQ(clean()->status, api::ConditionStatus::kTrue);
}

TEST(FabricStatusTest, MisplacedPlugsAreNamedAsTheOperatorsCallTheSwitches) {
  fabric::FabricSpec spec;
  spec.switch_names = {{"p0/p0s0/tor-r0-p0", "leaf-a1"}, {"p0/p0s0/tor-r1-p0", "leaf-a2"}};
  NetworkHealth health;
  health.evidence.neighbours_reported = true;
  health.evidence.wiring.checked = 20;
  health.evidence.wiring.faults = {{"h1:r0p0", "p0/p0s0/tor-r0-p0:d1", "p0/p0s0/tor-r1-p0:d1"}};
  api::FabricStatus status;
  AddNetworkConditions(spec, health, 1, 1000, status);
  EXPECT_EQ(api::FindCondition(status.conditions, kWiringVerifiedCondition)->message,
            "h1:r0p0 is in leaf-a2:d1 instead of leaf-a1:d1");
}

TEST(FabricStatusTest, ReportsThatNobodyBelievesLeaveTheConditionUnknown) {
  NetworkHealth health;
  health.distrusted = 40;
  health.evidence.neighbours_reported = true;
  health.evidence.wiring.checked = 20;
  health.evidence.wiring.faults.resize(15);
  health.evidence.wiring_distrusted = true;
  api::FabricStatus status;
  AddNetworkConditions({}, health, 1, 1000, status);
  for (const char* type : {kLinksUpCondition, kWiringVerifiedCondition}) {
    const api::Condition* condition = api::FindCondition(status.conditions, type);
    ASSERT_NE(condition, nullptr);
    EXPECT_EQ(condition->status, api::ConditionStatus::kUnknown) << type;
    EXPECT_EQ(condition->reason, "SensorFault") << type;
  }
}

}  // namespace
}  // namespace yardmaster::op
