#include "pkg/operator/fabric_status.h"

#include "gtest/gtest.h"

#include "pkg/fabric/testing.h"

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

TEST(FabricStatusTest, ASecondFabricIsNotUsedAndCountsNothing) {
  const api::FabricStatus status = StatusOf(MakeFabric(), MakeSnapshot(), false, 1000);
  EXPECT_EQ(status.hosts, 0);
  EXPECT_FALSE(api::IsTrue(status.conditions, "Ready"));
}

}  // namespace
}  // namespace yardmaster::op
