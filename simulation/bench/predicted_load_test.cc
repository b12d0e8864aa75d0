// The load of segments' uplinks by the jobs placed.
#include "simulation/bench/predicted_load.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::bench {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;

using fabric::HostId;

// Three segments of four hosts, eight rails with ToRs of their own.
class PredictedUplinkLoadTest : public ::testing::Test {
 protected:
  // A ring on every rail. It computes for 2 s and communicates for 4 s, so that an iteration takes
  // 4 s.
  void Place(const std::vector<int>& hosts) {
    workload::Job& job = plan::AddJob(snapshot_, "a" + std::to_string(snapshot_.jobs.size()),
                                      static_cast<int>(hosts.size()))
                             .job;
    job.profile = {.flop_per_iteration = 8e12,
                   .compute_seconds = 2,
                   .data_bytes = 1e9,
                   .measured = true,
                   .communication_seconds = 4};
    std::vector<HostId> of_rank;
    for (const int host : hosts) of_rank.emplace_back(host);
    plan::Place(snapshot_, plan::LastJob(snapshot_), of_rank);
  }

  // A ring of GPUs: the last of a host, on the last rail, sends to the first of the next.
  void PlaceRing(const std::vector<int>& hosts) {
    workload::Parallelism p;
    p.context = 8 * static_cast<int>(hosts.size());
    workload::Job& job = plan::AddJob(snapshot_, "ring", p, 8).job;
    job.profile = {.flop_per_iteration = 8e12, .compute_seconds = 2, .context_bytes = 1e9};
    std::vector<HostId> of_rank;
    for (const int host : hosts) of_rank.emplace_back(host);
    plan::Place(snapshot_, plan::LastJob(snapshot_), of_rank);
  }

  plan::Snapshot snapshot_ = plan::MakeSnapshot(fabric::SmallHpn(1, 3, 4));
  // Of one connection on all rails: bytes per second times FLOP per second of communication.
  const double one_way_ = 8 * 1e9 / 4 * (8e12 / 4);
};

TEST_F(PredictedUplinkLoadTest, WithoutJobsOrANetworkThereIsNone) {
  EXPECT_THAT(PredictedUplinkLoad(snapshot_), ElementsAre(0, 0, 0));
  Place({0, 4});
  snapshot_.network = nullptr;
  EXPECT_THAT(PredictedUplinkLoad(snapshot_), ElementsAre(0, 0, 0));
}

TEST_F(PredictedUplinkLoadTest, AJobInsideASegmentLoadsNoUplinks) {
  Place({0, 1, 2});
  EXPECT_THAT(PredictedUplinkLoad(snapshot_), Each(0));
}

TEST_F(PredictedUplinkLoadTest, AJobOverTwoSegmentsLoadsBothByItsIntensity) {
  Place({0, 4});  // there and back
  const std::vector<double> load = PredictedUplinkLoad(snapshot_);
  EXPECT_DOUBLE_EQ(load[0], 2 * one_way_);
  EXPECT_DOUBLE_EQ(load[1], 2 * one_way_);
  EXPECT_EQ(load[2], 0);
}

TEST_F(PredictedUplinkLoadTest, OnlyTheHopsBetweenSegmentsCount) {
  Place({0, 1, 4});  // the hop from 0 to 1 stays inside
  const std::vector<double> load = PredictedUplinkLoad(snapshot_);
  EXPECT_DOUBLE_EQ(load[0], 2 * one_way_);
  EXPECT_DOUBLE_EQ(load[1], 2 * one_way_);
}

TEST_F(PredictedUplinkLoadTest, JobsAddUpAndWaitingOnesAreNotThere) {
  Place({0, 4});
  Place({5, 8});
  Place({1, 6});
  snapshot_.jobs.back().assignment.reset();
  const std::vector<double> load = PredictedUplinkLoad(snapshot_);
  EXPECT_NEAR(load[0] / one_way_, 2, 1e-9);
  EXPECT_NEAR(load[1] / one_way_, 4, 1e-9);
  EXPECT_NEAR(load[2] / one_way_, 2, 1e-9);
}

TEST_F(PredictedUplinkLoadTest, TrafficBetweenRailsOfOneTorStaysInside) {
  PlaceRing({0, 1});
  EXPECT_THAT(PredictedUplinkLoad(snapshot_), ElementsAre(Gt(0), 0, 0));
  fabric::FabricSpec spec = fabric::SmallHpn(1, 3, 4);
  spec.tiers[0].per_rail = false;
  spec.tiers[0].down_ports *= spec.rails;
  snapshot_ = plan::MakeSnapshot(spec);
  PlaceRing({0, 1});
  EXPECT_THAT(PredictedUplinkLoad(snapshot_), Each(0));
}

TEST_F(PredictedUplinkLoadTest, TrafficInsideADomainLoadsNoUplinks) {
  const fabric::FabricSpec spec = fabric::SmallHpn(1, 3, 4);
  const fabric::Places apart = fabric::PlacesOf(spec);
  std::vector<fabric::HostPlace> places;
  for (const HostId host : apart.hosts()) {
    fabric::HostPlace place;
    place.name = apart.name(host);
    place.fabric_pod = apart.name(apart.fabric_pod_of(host));
    place.segment = apart.name(apart.segment_of(host));
    place.domain = place.segment + (host.value % 4 < 2 ? "d0" : "d1");
    places.push_back(std::move(place));
  }
  snapshot_.places = std::make_shared<const fabric::Places>(fabric::Places::Build(places).value());
  snapshot_.network = std::make_shared<const fabric::Network>(
      fabric::Network::Build(spec, snapshot_.places).value());
  PlaceRing({0, 1});
  EXPECT_THAT(PredictedUplinkLoad(snapshot_), Each(0));
  PlaceRing({1, 2});
  EXPECT_THAT(PredictedUplinkLoad(snapshot_), ElementsAre(Gt(0), 0, 0));
}

}  // namespace
}  // namespace yardmaster::bench
