#include "simulation/simulator/trace_run.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <set>

#include "pkg/fabric/testing/fabrics.h"
#include "simulation/simulator/fabric_paths.h"

namespace yardmaster::sim {
namespace {

fabric::Network SmallNetwork() {
  const fabric::FabricSpec spec = fabric::SmallHpn(1, 4, 6);
  return *fabric::Network::Build(spec,
                                 std::make_shared<const fabric::Places>(fabric::PlacesOf(spec)));
}

std::vector<TraceJob> SmallTrace(std::uint64_t seed) {
  return GenerateTrace({{"GPT-13b", 32}, {"llama_30b", 48}, {"ResNet", 16}, {"mnist", 8}},
                       {.jobs = 30, .mean_gap_seconds = 300, .large_share = 0, .seed = seed});
}

TEST(FabricPaths, PathsStartAndEndAtTheHostsAndAreAllDifferent) {
  const fabric::Network network = SmallNetwork();
  for (const int limit : {4, 1000}) {
    const crux::PathList paths =
        PathsBetween(network, {fabric::HostId(0), 3}, {fabric::HostId(20), 3}, limit);
    EXPECT_GT(paths.size(), 1);
    EXPECT_LE(paths.size(), limit);
    std::set<std::vector<std::int32_t>> different;
    for (std::int32_t p = 0; p < paths.size(); ++p) {
      const auto path = paths[p];
      different.emplace(path.begin(), path.end());
      const auto first = fabric::Network::cable_of(fabric::LinkId(path.front()));
      const auto last = fabric::Network::cable_of(fabric::LinkId(path.back()));
      EXPECT_EQ(network.nic_port_of(first).host, fabric::HostId(0));
      EXPECT_EQ(network.nic_port_of(last).host, fabric::HostId(20));
      EXPECT_EQ(network.nic_port_of(first).rail, 3);
      EXPECT_EQ(network.nic_port_of(last).rail, 3);
    }
    EXPECT_EQ(different.size(), static_cast<std::size_t>(paths.size()));
  }
  EXPECT_TRUE(PathsBetween(network, {fabric::HostId(1), 0}, {fabric::HostId(1), 0}, 9).empty());
}

TEST(TraceWorkload, GeneratedTracesHaveThePublishedShape) {
  const auto jobs = GenerateTrace({{"GPT-13b", 32}, {"llama", 400}, {"none", 0}}, {.jobs = 5000});
  std::size_t large = 0;
  std::int32_t largest = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    EXPECT_GT(jobs[j].gpus, 0);
    EXPECT_GE(jobs[j].arrival_seconds, j > 0 ? jobs[j - 1].arrival_seconds : 0);
    large += jobs[j].gpus >= 128;
    largest = std::max(largest, jobs[j].gpus);
  }
  EXPECT_GT(large, jobs.size() / 10);
  EXPECT_LT(large, jobs.size() / 6);
  EXPECT_EQ(largest, 512);
  EXPECT_NEAR(jobs.back().arrival_seconds, 14 * 86400, 1.5 * 86400);
}

TEST(TraceRun, EveryJobEndsAndNobodyIsFasterThanAlone) {
  const fabric::Network network = SmallNetwork();
  const auto jobs = SmallTrace(2);
  for (const crux::Policy policy : crux::AllPolicies()) {
    if (policy == crux::Policy::kExact) continue;
    TraceOptions options;
    options.policy = policy;
    const auto result = RunTrace(network, jobs, options);
    ASSERT_TRUE(result.ok()) << MessageOf(result.status());
    EXPECT_GT(result->utilisation, 0);
    EXPECT_LE(result->utilisation, 1);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const TraceJobResult& job = result->jobs[j];
      EXPECT_GE(job.start_seconds, jobs[j].arrival_seconds);
      // A window of some iterations measures a speed to a few percent.
      EXPECT_GE(job.finish_seconds - job.start_seconds, 0.9 * jobs[j].run_seconds);
    }
  }
}

TEST(TraceRun, TheSameSeedGivesTheSameRun) {
  const fabric::Network network = SmallNetwork();
  const auto jobs = SmallTrace(4);
  const auto one = RunTrace(network, jobs, {});
  const auto two = RunTrace(network, jobs, {});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->utilisation, two->utilisation);
  EXPECT_EQ(one->mean_completion_seconds, two->mean_completion_seconds);
}

TEST(TraceRun, ThePlannerKeepsJobsApartThatScatteredPlacesBringTogether) {
  const fabric::Network network = SmallNetwork();
  const auto jobs = SmallTrace(3);
  TraceOptions drawn;
  drawn.policy = crux::Policy::kEcmp;
  drawn.scatter = 1;
  TraceOptions planned = drawn;
  planned.planner_places = true;
  const auto scattered = RunTrace(network, jobs, drawn);
  const auto packed = RunTrace(network, jobs, planned);
  const auto again = RunTrace(network, {jobs.rbegin(), jobs.rend()}, planned);
  ASSERT_TRUE(scattered.ok() && packed.ok() && again.ok());
  EXPECT_GT(scattered->contended_jobs, 0.2);
  EXPECT_LT(packed->contended_jobs, scattered->contended_jobs / 2);
  EXPECT_EQ(again->utilisation, packed->utilisation);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    EXPECT_GE(packed->jobs[j].start_seconds, jobs[j].arrival_seconds);
    EXPECT_GT(packed->jobs[j].finish_seconds, packed->jobs[j].start_seconds);
  }
}

TEST(TraceRun, TheOrderInWhichJobsAreGivenDoesNotMatter) {
  const fabric::Network network = SmallNetwork();
  const auto jobs = SmallTrace(5);
  std::vector<TraceJob> backwards(jobs.rbegin(), jobs.rend());
  for (const crux::Policy policy : crux::AllPolicies()) {
    if (policy == crux::Policy::kExact) continue;
    TraceOptions options;
    options.policy = policy;
    options.fragmented = 0.3;
    const auto one = RunTrace(network, jobs, options);
    const auto two = RunTrace(network, backwards, options);
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_EQ(one->utilisation, two->utilisation) << crux::PolicyName(policy);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const TraceJobResult& a = one->jobs[j];
      const TraceJobResult& b = two->jobs[jobs.size() - 1 - j];
      EXPECT_EQ(a.id, b.id);
      EXPECT_EQ(a.start_seconds, b.start_seconds);
      EXPECT_EQ(a.finish_seconds, b.finish_seconds);
      EXPECT_EQ(a.contended, b.contended);
    }
  }
}

TEST(TraceRun, SmallJobsShareHostsAndWhereThereIsNoNvlinkTheirLinks) {
  const fabric::Network network = SmallNetwork();
  std::vector<TraceJob> jobs;
  for (const char* id : {"a", "b", "c", "d"}) jobs.push_back({id, "bert", 4, 0, 600});
  TraceOptions options;
  options.policy = crux::Policy::kEcmp;
  const auto nvlink = RunTrace(network, jobs, options);
  options.host = HostSpecOf(network.spec());
  options.host->nvlink_gbps = 0;
  const auto pcie = RunTrace(network, jobs, options);
  ASSERT_TRUE(nvlink.ok() && pcie.ok());
  EXPECT_EQ(nvlink->contended_jobs, 0);
  EXPECT_GT(pcie->contended_jobs, 0);
  EXPECT_EQ(pcie->network_contended_jobs, 0);
}

TEST(TraceRun, PathsOfCruxHelpAPolicyThatChoosesNone) {
  const fabric::Network network = SmallNetwork();
  const auto jobs = SmallTrace(6);
  TraceOptions options;
  options.policy = crux::Policy::kEcmp;
  options.load = 3;
  options.scatter = 1;
  const auto drawn = RunTrace(network, jobs, options);
  options.paths_of_crux = true;
  const auto chosen = RunTrace(network, jobs, options);
  ASSERT_TRUE(drawn.ok() && chosen.ok());
  EXPECT_GT(chosen->utilisation, drawn->utilisation);
  EXPECT_GT(drawn->network_contended_jobs, 0);
  EXPECT_LE(drawn->network_contended_jobs, drawn->contended_jobs);
  EXPECT_GT(chosen->network_share, drawn->network_share);
}

TEST(TraceRun, JobsThatMeetNoOtherSendAllTheBytesThatTheyWouldSendAlone) {
  const fabric::Network network = SmallNetwork();
  const std::vector<TraceJob> one = {{"only", "GPT-13b", 64, 0, 600}};
  const auto alone = RunTrace(network, one, {});
  ASSERT_TRUE(alone.ok());
  EXPECT_NEAR(alone->network_share, 1, 1e-9);
  EXPECT_EQ(alone->network_contended_jobs, 0);
}

TEST(TraceRun, MovesOfRunningJobsCostTheirStall) {
  const fabric::Network network = SmallNetwork();
  const auto jobs = SmallTrace(6);
  TraceOptions options;
  options.load = 3;
  options.scatter = 1;
  options.decide_from_nothing = true;
  const auto free = RunTrace(network, jobs, options);
  options.path_stall_seconds = options.level_stall_seconds = 30;
  const auto stalls = RunTrace(network, jobs, options);
  ASSERT_TRUE(free.ok() && stalls.ok());
  EXPECT_GT(free->path_moves + free->level_moves, 0);
  EXPECT_LT(stalls->utilisation, free->utilisation);
}

TEST(TraceRun, JobsThatMayNotMoveDoNot) {
  const fabric::Network network = SmallNetwork();
  TraceOptions options;
  options.load = 3;
  options.scatter = 1;
  options.decide.moves.path_stall_seconds = 1e12;
  const auto result = RunTrace(network, SmallTrace(6), options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->path_moves, 0);
}

TEST(TraceRun, AJobLargerThanTheFabricIsRefusedByName) {
  const auto result = RunTrace(SmallNetwork(), {{"huge", "GPT", 100000, 0, 100}}, TraceOptions{});
  EXPECT_EQ(MessageOf(result.status()).rfind("huge: needs 12500 hosts", 0), 0u)
      << MessageOf(result.status());
}

TEST(TraceRun, GivenPlacesAreTakenWhileTheirGpusAreFree) {
  const fabric::Network network = SmallNetwork();
  std::vector<TraceJob> jobs;
  for (const char* id : {"first", "beside", "crowded"}) {
    jobs.push_back({id, "GPT-13b", 8, static_cast<double>(jobs.size()), 600, {{2, 4}, {9, 4}}});
  }
  jobs.push_back({"anywhere", "GPT-13b", 16, 3, 600});
  TraceOptions options;
  const auto result = RunTrace(network, jobs, options);
  ASSERT_TRUE(result.ok()) << MessageOf(result.status());
  EXPECT_TRUE(result->jobs[0].in_place);
  EXPECT_TRUE(result->jobs[1].in_place);
  EXPECT_FALSE(result->jobs[2].in_place);
  EXPECT_FALSE(result->jobs[3].in_place);
  for (const TraceJobResult& job : result->jobs) EXPECT_GT(job.finish_seconds, 0);
}

}  // namespace
}  // namespace yardmaster::sim
