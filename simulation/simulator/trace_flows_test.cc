#include "simulation/simulator/trace_flows.h"

#include <gtest/gtest.h>
#include <memory>
#include <set>

#include "pkg/base/strings.h"
#include "simulation/simulator/evaluate.h"
#include "simulation/simulator/fabric_paths.h"
#include "simulation/simulator/simulator.h"

namespace yardmaster::sim {
namespace {

// Two ToRs of two hosts with four NICs each, below one Agg.
fabric::Network SmallClos() {
  fabric::FabricSpec spec;
  spec.rails = 4;
  spec.planes = 1;
  spec.nic_ports = 1;
  spec.segments_per_fabric_pod = 2;
  spec.hosts_per_segment = 2;
  fabric::Tier tor;
  tor.role = "tor";
  tor.per_plane = false;
  tor.down_ports = 8;
  tor.down_gbps = 200;
  tor.up_ports = 8;
  tor.up_gbps = 200;
  fabric::Tier agg;
  agg.role = "agg";
  agg.scope = fabric::Scope::kFabric;
  agg.per_plane = false;
  agg.down_ports = 16;
  agg.down_gbps = 200;
  spec.tiers = {tor, agg};
  std::vector<fabric::HostPlace> hosts;
  for (int h = 0; h < 4; ++h) hosts.push_back({StrCat("h", h), "p", StrCat("s", h / 2), {}});
  auto places = fabric::Places::Build(hosts);
  return *fabric::Network::Build(spec, std::make_shared<const fabric::Places>(*std::move(places)));
}

struct SmallCluster {
  explicit SmallCluster(double nvlink_gbps)
      : network(SmallClos()), links(SpecOf(network, nvlink_gbps), 4, network.num_links()) {
    std::vector<crux::Link> all = LinksOf(network);
    links.AppendTo(all);
    for (const crux::Link& link : all) gbps.push_back(link.gbps);
  }
  static HostSpec SpecOf(const fabric::Network& network, double nvlink_gbps) {
    HostSpec spec = HostSpecOf(network.spec());
    spec.nvlink_gbps = nvlink_gbps;
    return spec;
  }

  fabric::Network network;
  HostLinks links;
  std::vector<double> gbps;
};

constexpr double kCompute = 1;
constexpr double kSeconds = 0.5;  // of communication, alone

JobProfile RingInside(const SmallCluster& cluster) {
  JobProfile profile;
  profile.host_ring_bytes_per_gpu = kSeconds * cluster.links.spec().pcie_gbps * 1e9 / 8;
  return profile;
}

struct TestJob {
  SimulatedJob hops;  // as flows of their own
  RingJob rings;      // as they are in a ring
};

TestJob JobOn(const SmallCluster& cluster, const std::vector<HostGpus>& places,
              const JobProfile& profile, std::int32_t level) {
  const TraceJobFlows made = FlowsOf(cluster.network, cluster.links, places, profile, {});
  crux::ContendingJob job;
  job.compute_seconds = kCompute;
  job.flows = made.flows;
  crux::JobDecision decision;
  decision.level = level;
  decision.paths.assign(job.flows.size(), 0);
  return {SpecOf(job, decision, JobStart::kFresh),
          {kCompute, 1, level, 0, false, RingsOf(made, decision.paths)}};
}

// Iterations of each job in `seconds`; nothing is lost or made on the way, and rings give the same.
std::vector<std::int64_t> Iterations(const SmallCluster& cluster, const std::vector<TestJob>& jobs,
                                     double seconds) {
  Simulator simulator(cluster.gbps);
  std::vector<RingJob> rings;
  for (const TestJob& job : jobs) {
    simulator.AddJob(job.hops);
    rings.push_back(job.rings);
  }
  for (double now = 0.37; now < seconds; now += 0.37) {
    EXPECT_TRUE(simulator.RunUntil(now).ok());
    const absl::Status held = simulator.CheckConservation();
    EXPECT_TRUE(held.ok()) << held;
  }
  EXPECT_TRUE(simulator.RunUntil(seconds).ok());
  const std::vector<RingTotals> totals = RunRings(cluster.gbps, rings, seconds);
  std::vector<std::int64_t> iterations;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    iterations.push_back(simulator.Totals(SimulatedJobId(static_cast<std::int32_t>(j))).iterations);
    EXPECT_NEAR(totals[j].iterations, iterations[j], 1);
  }
  return iterations;
}

TEST(TraceFlows, TwoJobsThatShareEverySwitchOfAHostHalveItsLinks) {
  const SmallCluster cluster(0);
  const JobProfile profile = RingInside(cluster);
  const std::vector<HostGpus> even{{0, {0, 2, 4, 6}}};
  const std::vector<HostGpus> odd{{0, {1, 3, 5, 7}}};
  const double window = 60.01;
  // In step they communicate at the same time, each at half the bandwidth: 1 + 2 x 0.5 seconds.
  const std::vector<TestJob> same = {JobOn(cluster, even, profile, 0),
                                     JobOn(cluster, odd, profile, 0)};
  EXPECT_EQ(Iterations(cluster, same, window), (std::vector<std::int64_t>{30, 30}));
  // With a level each the second waits once and never again: 1 + 0.5 seconds.
  const std::vector<TestJob> two = {JobOn(cluster, even, profile, 1),
                                    JobOn(cluster, odd, profile, 0)};
  EXPECT_EQ(Iterations(cluster, two, window), (std::vector<std::int64_t>{40, 39}));
}

TEST(TraceFlows, JobsOnSwitchesOfTheirOwnDoNotMeet) {
  const SmallCluster cluster(0);
  const JobProfile profile = RingInside(cluster);
  const std::vector<TestJob> jobs = {JobOn(cluster, {{0, {0, 1, 2, 3}}}, profile, 0),
                                     JobOn(cluster, {{0, {4, 5, 6, 7}}}, profile, 0)};
  EXPECT_EQ(Iterations(cluster, jobs, 60.01), (std::vector<std::int64_t>{40, 40}));
}

TEST(TraceFlows, NvlinkKeepsJobsOfOneHostApart) {
  const SmallCluster cluster(2400);
  const JobProfile profile = RingInside(cluster);
  const std::vector<TestJob> jobs = {JobOn(cluster, {{0, {0, 2, 4, 6}}}, profile, 0),
                                     JobOn(cluster, {{0, {1, 3, 5, 7}}}, profile, 0)};
  // 252 / 2400 of the time.
  const auto once = static_cast<std::int64_t>(60.01 / (kCompute + kSeconds * 252 / 2400));
  EXPECT_EQ(Iterations(cluster, jobs, 60.01), (std::vector<std::int64_t>{once, once}));
}

TEST(TraceFlows, JobsOnHalvesOfTheSameHostsShareTheirNics) {
  const SmallCluster cluster(2400);
  JobProfile profile;
  profile.ring_bytes_per_gpu = kSeconds * 200e9 / 8 / 2;  // four channels carry those of eight GPUs
  const std::vector<HostGpus> even{{0, {0, 2, 4, 6}}, {1, {0, 2, 4, 6}}};
  const std::vector<HostGpus> odd{{0, {1, 3, 5, 7}}, {1, {1, 3, 5, 7}}};
  const TestJob one = JobOn(cluster, even, profile, 0);
  EXPECT_EQ(one.hops.flows.size(), 8u) << "a channel per NIC there and back";
  EXPECT_EQ(Iterations(cluster, {one}, 60.01), (std::vector<std::int64_t>{40}));
  EXPECT_EQ(Iterations(cluster, {one, JobOn(cluster, odd, profile, 0)}, 60.01),
            (std::vector<std::int64_t>{30, 30}));
}

TEST(TraceFlows, AFlowStartsAtItsGpuAndEndsAtTheNext) {
  const SmallCluster cluster(2400);
  JobProfile profile;
  profile.ring_bytes_per_gpu = 1e9;
  const std::vector<HostGpus> places{{0, {1, 5}}, {2, {3, 6}}};
  const auto flows = FlowsOf(cluster.network, cluster.links, places, profile, {}).flows;
  ASSERT_EQ(flows.size(), 4u);
  std::vector<std::int32_t> head;
  cluster.links.ToNic(0, 1, 0, head);
  std::vector<std::int32_t> tail;
  cluster.links.FromNic(2, 1, 3, tail);
  EXPECT_EQ(flows[0].bytes, 4e9) << "two channels carry what eight GPUs would";
  EXPECT_EQ(flows[0].paths.size(), 64) << "eight uplinks, eight ways down";
  for (std::int32_t p = 0; p < flows[0].paths.size(); ++p) {
    const auto path = flows[0].paths[p];
    const std::vector<std::int32_t> links(path.begin(), path.end());
    EXPECT_EQ(std::vector<std::int32_t>(links.begin(), links.begin() + 2), head);
    EXPECT_EQ(std::vector<std::int32_t>(links.end() - 2, links.end()), tail);
    EXPECT_EQ(std::set<std::int32_t>(links.begin(), links.end()).size(), links.size());
  }
}

TEST(TraceFlows, HopsThatMeetNobodyAreCountedOnce) {
  const SmallCluster cluster(2400);
  JobProfile profile;
  profile.ring_bytes_per_gpu = 1e9;
  const std::vector<std::int32_t> all{0, 1, 2, 3, 4, 5, 6, 7};
  // Two hosts below one ToR, all theirs: the two channels of one NIC stand for sixteen.
  EXPECT_EQ(FlowsOf(cluster.network, cluster.links, {{0, all}, {1, all}}, profile, {}).flows.size(),
            2u);
  // A host of another ToR: 16 channels cross, and of the hop below the ToR one NIC's remain.
  EXPECT_EQ(FlowsOf(cluster.network, cluster.links, {{0, all}, {1, all}, {2, all}}, profile, {})
                .flows.size(),
            18u);
}

TEST(TraceFlows, AHashSpreadsARingOverConnectionsAndLosesNothing) {
  const SmallCluster cluster(2400);
  JobProfile profile;
  profile.ring_bytes_per_gpu = 1e9;
  const std::vector<std::int32_t> all{0, 1, 2, 3, 4, 5, 6, 7};
  const TraceJobFlows job =
      FlowsOf(cluster.network, cluster.links, {{0, all}, {2, all}}, profile, {});
  Random random(1);
  const TraceJobFlows hashed = Hashed(job, 8, random);
  EXPECT_EQ(hashed.flows.size(), 8 * job.flows.size());
  const auto rings = RingsOf(hashed, std::vector<std::int32_t>(hashed.flows.size(), 0));
  ASSERT_EQ(rings.size(), 8u);
  for (const RingSpec& ring : rings) {
    EXPECT_EQ(ring.bytes, 1e9);
    // Two hops of eight links: each but the uplinks and downlinks carries all of the rate.
    double sum = 0;
    for (const double use : ring.uses) sum += use;
    EXPECT_NEAR(sum, 16, 1e-9);
  }
}

}  // namespace
}  // namespace yardmaster::sim
