#include "pkg/plan/residual_bandwidth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/contention_cost.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using fabric::Network;
using fabric::SegmentId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two segments of four hosts, eight planes, four Agg in each.
class ResidualBandwidthTest : public ::testing::Test {
 protected:
  explicit ResidualBandwidthTest(bool sprays = true) : snapshot_(MakeSnapshot(Spec(sprays))) {}

  static fabric::FabricSpec Spec(bool sprays) {
    fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
    spec.planes = spec.nic_ports = 8;
    spec.nic_spraying = sprays;
    return spec;
  }
  const Network& network() const { return *snapshot_.network; }
  void Lose(fabric::CableId cable) {
    snapshot_.cable_down.resize(static_cast<std::size_t>(network().num_cables()), 0);
    snapshot_.cable_down[cable.index()] = 1;
  }
  double ShareOf(int host) const { return ResidualOf(snapshot_, HostId(host)).share; }

  Snapshot snapshot_;
};

TEST_F(ResidualBandwidthTest, EverythingIsThereWhereNothingIsDown) {
  EXPECT_EQ(ShareOf(0), 1);
  EXPECT_FALSE(NarrowestOf(snapshot_, {HostId(0), HostId(1)}).has_value());
  EXPECT_EQ(UplinkGbps(network(), SegmentId(0), snapshot_.cable_down), 8 * 8 * 4 * 400);
}

TEST_F(ResidualBandwidthTest, ADeadPlaneOfANicTakesItsPartOfTheHost) {
  Lose(network().host_cable({HostId(2), 5, 3}));
  EXPECT_EQ(ShareOf(2), 7.0 / 8);
  EXPECT_EQ(ShareOf(1), 1);
  EXPECT_EQ(ResidualOf(snapshot_, HostId(2)).rail, 5);
  // Another NIC of it: the narrowest one counts.
  Lose(network().host_cable({HostId(2), 6, 0}));
  Lose(network().host_cable({HostId(2), 6, 1}));
  EXPECT_EQ(ShareOf(2), 6.0 / 8);
  EXPECT_EQ(ResidualOf(snapshot_, HostId(2)).ports_down, 2);
}

TEST_F(ResidualBandwidthTest, AnAggOfAPlaneTakesItsPartOfThatPlaneFromEveryHost) {
  for (const HostId host : {HostId(0), HostId(4)}) {
    for (int rail = 0; rail < 8; ++rail) {
      Lose(network().up_cable(network().tor({host, rail, 2}), 1));
    }
  }
  for (int host = 0; host < 8; ++host) EXPECT_DOUBLE_EQ(ShareOf(host), 1 - 1.0 / 8 / 4);
  EXPECT_DOUBLE_EQ(UplinkGbps(network(), SegmentId(1), snapshot_.cable_down),
                   (8 * 8 * 4 - 8) * 400.0);
}

TEST_F(ResidualBandwidthTest, TheNarrowestHostHoldsAGangOfSeveralBack) {
  Lose(network().host_cable({HostId(1), 0, 0}));
  Lose(network().host_cable({HostId(2), 3, 4}));
  Lose(network().host_cable({HostId(2), 3, 5}));
  const auto narrow = NarrowestOf(snapshot_, {HostId(0), HostId(1), HostId(2)});
  ASSERT_TRUE(narrow.has_value());
  EXPECT_EQ(narrow->host, HostId(2));
  EXPECT_THAT(TextOf(snapshot_, *narrow),
              HasSubstr("has 75 % of its bandwidth (2 of 8 ports of rail 3 are down)"));
  EXPECT_FALSE(NarrowestOf(snapshot_, {HostId(2), HostId(2)}).has_value()) << "on one host";
  EXPECT_FALSE(NarrowestOf(snapshot_, {HostId(0), HostId(4)}).has_value());
}

TEST_F(ResidualBandwidthTest, AGangThatIsHeldBackIsPlacedWithAWarning) {
  for (const HostId host : {HostId(0), HostId(4)}) {
    Lose(network().host_cable({host, 0, 7}));
    snapshot_.cluster.hosts[host.index()].degraded = true;
  }
  AddJob(snapshot_, "fits", 2);
  AddJob(snapshot_, "large", 4);
  const Plan plan = MakePlan(snapshot_);
  EXPECT_THAT(Of(plan, JobId(0)).gang.host_of_rank, ElementsAre(HostId(1), HostId(2)));
  EXPECT_THAT(Of(plan, JobId(0)).warnings, IsEmpty());
  ASSERT_EQ(Of(plan, JobId(1)).gang.outcome, placement::Outcome::kPlaced);
  EXPECT_THAT(Of(plan, JobId(1)).warnings, ElementsAre(HasSubstr("has 88 % of its bandwidth")));
}

TEST_F(ResidualBandwidthTest, LostUplinksAreBusierWithTheSameTraffic) {
  JobState& job = AddJob(snapshot_, "talks", 2);
  job.job.profile.flop_per_iteration = 1e15;
  job.job.profile.compute_seconds = 1;
  job.job.profile.data_bytes = 1e9;
  Place(snapshot_, JobId(0), {HostId(0), HostId(4)});
  const double whole = ContentionCost(snapshot_).BusyUplinks()[0];
  for (int rail = 0; rail < 8; ++rail) {
    for (int up = 0; up < 4; ++up) {
      Lose(network().up_cable(network().tor({HostId(0), rail, 0}), up));
      Lose(network().up_cable(network().tor({HostId(0), rail, 1}), up));
    }
  }
  const double left = ContentionCost(snapshot_).BusyUplinks()[0];
  EXPECT_GT(left, whole);
}

class HashedResidualTest : public ResidualBandwidthTest {
 protected:
  HashedResidualTest() : ResidualBandwidthTest(/*sprays=*/false) {}
};

TEST_F(HashedResidualTest, WhereSwitchesHashNoHostHoldsAGangBackByItsShare) {
  Lose(network().host_cable({HostId(2), 3, 4}));
  EXPECT_FALSE(NarrowestOf(snapshot_, {HostId(0), HostId(2)}).has_value());
  AddJob(snapshot_, "talks", 2);
  Place(snapshot_, JobId(0), {HostId(0), HostId(4)});
  const std::vector<double> before = ContentionCost(snapshot_).BusyUplinks();
  for (int up = 0; up < 4; ++up) Lose(network().up_cable(network().tor({HostId(0), 0, 0}), up));
  EXPECT_EQ(ContentionCost(snapshot_).BusyUplinks(), before);
}

}  // namespace
}  // namespace yardmaster::plan
