#include "pkg/page/network_picture.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::page {
namespace {

using fabric::HostId;

class NetworkPictureTest : public testing::Test {
 protected:
  // Two jobs over both segments, on hosts of their own.
  NetworkPictureTest() : snapshot_(plan::MakeSnapshot(Spec())) {
    for (const char* name : {"a", "b"}) {
      plan::JobState& job = plan::AddJob(snapshot_, name, 4);
      job.job.profile.flop_per_iteration = 1e15;
      job.job.profile.compute_seconds = 1;
      job.job.profile.data_bytes = 1e9;
    }
    plan::Place(snapshot_, plan::JobId(0), {HostId(0), HostId(8), HostId(1), HostId(9)});
    plan::Place(snapshot_, plan::JobId(1), {HostId(2), HostId(10), HostId(3), HostId(11)});
    plan_ = netplan::PlanNetwork(snapshot_, netplan::PlacedJobs(snapshot_));
  }

  static fabric::FabricSpec Spec() {
    fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 8);
    fabric::HashSpec hash;
    hash.kind = fabric::HashKind::kCrc;
    spec.ecmp_hash["tor"] = hash;
    hash.seed = 7;
    spec.ecmp_hash["agg"] = hash;
    return spec;
  }

  plan::Snapshot snapshot_;
  netplan::NetworkPlan plan_;
};

TEST_F(NetworkPictureTest, EveryFlowIsCountedWithItsJob) {
  const NetworkPicture picture = PictureOf(plan_, snapshot_);
  ASSERT_EQ(picture.jobs.size(), 2u);
  int flows = 0;
  for (const auto& [key, job] : picture.jobs) {
    flows += job.flows;
    EXPECT_GT(job.gbps, 0);
    // Rank by rank, both ways over the two segments.
    EXPECT_EQ(job.between.count({0, 1}), 1u);
    EXPECT_EQ(job.between.count({1, 0}), 1u);
    ASSERT_EQ(job.sample.size(), 4u);
    EXPECT_FALSE(job.sample[0].links.empty());
  }
  EXPECT_EQ(flows, static_cast<int>(plan_.paths.size()));
}

TEST_F(NetworkPictureTest, LinksAreShownAsTheirOperatorsCallTheSwitch) {
  fabric::FabricSpec spec = Spec();
  for (int rail = 0; rail < 8; ++rail) {
    spec.switch_names["p0/p0s0/tor-r" + std::to_string(rail) + "-p0"] =
        "leaf-" + std::to_string(rail);
  }
  snapshot_.network = std::make_shared<const fabric::Network>(
      fabric::Network::Build(spec, snapshot_.places).value());
  int named = 0;
  for (const LinkPicture& link : PictureOf(plan_, snapshot_).busiest) {
    const bool has_name =
        link.name.rfind("p0/p0s0/tor-", 0) == 0 && link.name.find("-p0:") != std::string::npos;
    named += has_name ? 1 : 0;
    EXPECT_EQ(link.shown.rfind("leaf-", 0) == 0, has_name) << link.name << ": " << link.shown;
    EXPECT_EQ(link.shown.substr(link.shown.find(':')), link.name.substr(link.name.find(':')));
  }
  EXPECT_GT(named, 0);
}

// Bytes are conserved: what leaves a segment by its uplinks is what jobs send between segments.
TEST_F(NetworkPictureTest, UplinksCarryWhatLeavesTheSegment) {
  const NetworkPicture picture = PictureOf(plan_, snapshot_);
  ASSERT_EQ(picture.segments.size(), 2u);
  for (int segment : {0, 1}) {
    double out = 0;
    for (const auto& [key, job] : picture.jobs) {
      const auto found = job.between.find({segment, 1 - segment});
      if (found != job.between.end()) out += found->second;
    }
    const SegmentLoad& load = picture.segments[static_cast<std::size_t>(segment)];
    EXPECT_NEAR(load.gbps, out, 1e-6 * out);
    EXPECT_GT(load.uplinks, 0);
    EXPECT_GT(load.peak, 0);
  }
}

TEST_F(NetworkPictureTest, PlanesShareTheUplinksAndCountTheirCablesThatAreDown) {
  const fabric::Network& network = *snapshot_.network;
  ASSERT_EQ(network.spec().planes, 2);
  snapshot_.cable_down.assign(static_cast<std::size_t>(network.num_cables()), 0);
  snapshot_.cable_down[network.host_cable({HostId(5), 0, 1}).index()] = 1;
  for (auto& job : plan_.jobs) job->share = 0.5;
  const NetworkPicture picture = PictureOf(plan_, snapshot_);
  ASSERT_EQ(picture.planes.size(), 2u);
  EXPECT_EQ(picture.planes[0].down, 0);
  EXPECT_EQ(picture.planes[1].down, 1);
  double of_planes = 0, of_segments = 0;
  for (const PlaneLoad& plane : picture.planes) of_planes += plane.gbps;
  for (const SegmentLoad& segment : picture.segments) of_segments += segment.gbps;
  EXPECT_NEAR(of_planes, of_segments, 1e-6 * of_segments);
  for (const auto& [key, job] : picture.jobs) EXPECT_EQ(job.share, 0.5);
}

TEST_F(NetworkPictureTest, SprayedFlowsAreOnAllTheirUplinksInEqualParts) {
  fabric::FabricSpec spec = Spec();
  spec.nic_spraying = true;
  plan::Snapshot sprayed = plan::MakeSnapshot(spec);
  sprayed.jobs = snapshot_.jobs;
  const netplan::NetworkPlan plan = netplan::PlanNetwork(sprayed, netplan::PlacedJobs(sprayed));
  const NetworkPicture picture = PictureOf(plan, sprayed);
  ASSERT_EQ(picture.segments.size(), 2u);
  const SegmentLoad& load = picture.segments[0];
  EXPECT_EQ(load.uplinks, 8 * 2 * 4) << "rails, planes, uplinks of a ToR";
  EXPECT_EQ(load.shared_uplinks, load.uplinks);
  EXPECT_NEAR(load.peak, load.gbps / (8 * 2 * 4 * 400), 1e-9);
  double out = 0;
  for (const auto& [key, job] : picture.jobs) {
    const auto found = job.between.find({0, 1});
    ASSERT_NE(found, job.between.end());
    out += found->second;
    for (const SamplePath& path : job.sample) EXPECT_TRUE(path.links.empty());
  }
  EXPECT_NEAR(load.gbps, out, 1e-6 * out);
  // One entry for links that are alike: up and down of each segment and rail.
  EXPECT_EQ(picture.busiest.size(), 2u * 8 * 2);
  for (const LinkPicture& link : picture.busiest) {
    EXPECT_THAT(link.name, testing::HasSubstr(" and 7 alike"));
    EXPECT_EQ(link.jobs.size(), 2u);
  }
}

TEST_F(NetworkPictureTest, EveryLinkIsCountedInTheClassOfItsTiers) {
  const NetworkPicture picture = PictureOf(plan_, snapshot_);
  ASSERT_EQ(picture.classes.count("host-tor"), 1u);
  ASSERT_EQ(picture.classes.count("tor-agg"), 1u);
  const LinkClassLoad& hosts = picture.classes.at("host-tor");
  // Both jobs have hosts of their own: eight hosts send and receive, and no such link is shared.
  const auto& spec = snapshot_.network->spec();
  EXPECT_EQ(hosts.loaded % 2, 0);
  EXPECT_LE(hosts.loaded, 2 * 8 * spec.rails * spec.planes);
  EXPECT_GT(hosts.loaded, 0);
  EXPECT_EQ(hosts.shared, 0);
  int uplinks = 0, shared = 0;
  double peak = 0;
  for (const SegmentLoad& segment : picture.segments) {
    uplinks += segment.uplinks;
    shared += segment.shared_uplinks;
    peak = std::max(peak, segment.peak);
  }
  // What goes up from one ToR comes down to another.
  EXPECT_GE(picture.classes.at("tor-agg").loaded, uplinks);
  EXPECT_GE(picture.classes.at("tor-agg").shared, shared);
  EXPECT_GE(picture.classes.at("tor-agg").peak, peak);
}

TEST_F(NetworkPictureTest, GpusOfPlacedGangsComputeButForTheirCommunication) {
  const GpuUse gpus = PictureOf(plan_, snapshot_).gpus;
  EXPECT_EQ(gpus.all, 16 * 8);
  EXPECT_EQ(gpus.placed, 8 * 8);
  EXPECT_GT(gpus.computing, 0);
  EXPECT_LE(gpus.computing, gpus.placed);
  // Half of what they would get of the network alone is half of the work.
  for (auto& network : plan_.jobs) network->share = 0.5;
  EXPECT_NEAR(PictureOf(plan_, snapshot_).gpus.computing, gpus.computing / 2, 1e-9);
}

TEST_F(NetworkPictureTest, TheBusiestLinksComeFirstAndNameTheirJobs) {
  const NetworkPicture picture = PictureOf(plan_, snapshot_);
  ASSERT_FALSE(picture.busiest.empty());
  EXPECT_LE(picture.busiest.size(), static_cast<std::size_t>(kMaxBusiest));
  double previous = picture.busiest[0].gbps / picture.busiest[0].capacity_gbps;
  for (const LinkPicture& link : picture.busiest) {
    const double load = link.gbps / link.capacity_gbps;
    EXPECT_LE(load, previous);
    previous = load;
    double sum = 0;
    for (const JobOnLink& job : link.jobs) sum += job.gbps;
    EXPECT_NEAR(sum, link.gbps, 1e-6 * link.gbps);
    EXPECT_TRUE(snapshot_.network->FindCable(link.name).valid()) << link.name;
  }
}

TEST_F(NetworkPictureTest, AFlowWithoutAPortCountsWhereCruxWantsIt) {
  for (netplan::PathAssignment& path : plan_.paths) {
    path.wanted_links = path.links;
    path.links.clear();
    path.source_port = 0;
  }
  const NetworkPicture picture = PictureOf(plan_, snapshot_);
  EXPECT_GT(picture.segments[0].gbps, 0);
  EXPECT_EQ(picture.jobs.begin()->second.unplanned, picture.jobs.begin()->second.flows);
  EXPECT_TRUE(picture.jobs.begin()->second.sample[0].links.empty());
}

TEST_F(NetworkPictureTest, WithoutANetworkThereIsNothingToShow) {
  snapshot_.network = nullptr;
  const netplan::NetworkPlan none = netplan::PlanNetwork(snapshot_, netplan::PlacedJobs(snapshot_));
  EXPECT_TRUE(PictureOf(none, snapshot_).jobs.empty());
}

}  // namespace
}  // namespace yardmaster::page
