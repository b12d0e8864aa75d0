#include "simulation/simulator/trace_speed.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "simulation/policies/policies.h"
#include "simulation/simulator/evaluate.h"
#include "simulation/simulator/simulator.h"

namespace yardmaster::sim {
namespace {

constexpr std::int32_t kLinks = 7;

std::vector<RingJob> RandomJobs(Random& random, bool parts) {
  std::vector<RingJob> jobs(4);
  for (RingJob& job : jobs) {
    job.compute_seconds = 0.2 + random.Unit();
    job.communication_start = 0.3 + 0.7 * random.Unit();
    job.level = static_cast<std::int32_t>(random.Below(2));
    job.offset_seconds = random.Unit();
    for (int r = 0; r < 3; ++r) {
      RingSpec ring;
      ring.bytes = 1e9 * (0.5 + random.Unit());
      for (std::int32_t link = 0; link < kLinks; ++link) {
        if (link > 0 && random.Unit() < 0.6) continue;
        ring.links.push_back(link);
        ring.uses.push_back(parts ? 0.125 * static_cast<double>(1 + random.Below(10)) : 1);
      }
      job.rings.push_back(ring);
    }
  }
  return jobs;
}

// The same with every ring as a flow, which it is where its uses are 1.
SimulatedJob FlowsOfRings(const RingJob& rings) {
  crux::ContendingJob job;
  job.compute_seconds = rings.compute_seconds;
  job.communication_start = rings.communication_start;
  crux::JobDecision decision;
  decision.level = rings.level;
  decision.offset_seconds = rings.offset_seconds;
  for (const RingSpec& ring : rings.rings) {
    job.flows.push_back({"f", ring.bytes, {ring.links}});
    decision.paths.push_back(0);
  }
  return SpecOf(job, decision, JobStart::kFresh);
}

TEST(TraceSpeed, LinksThatCannotLimitChangeNothing) {
  Random random(3);
  std::size_t dropped = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<double> gbps;
    for (int l = 0; l < kLinks; ++l) {
      gbps.push_back(50 * static_cast<double>(1 + random.Below(4)));
    }
    std::vector<RingJob> jobs = RandomJobs(random, true);
    // Links of one ring alone, which are the ones that can go.
    for (std::int32_t extra = 0; extra < 3; ++extra) {
      gbps.push_back(100);
      jobs[0].rings[0].links.push_back(kLinks + extra);
      jobs[0].rings[0].uses.push_back(1);
    }
    std::vector<RingJob> fewer = jobs;
    const std::vector<double> kept = KeepLimitingLinks(gbps, fewer);
    dropped += gbps.size() - kept.size();
    const auto all = RunRings(gbps, jobs, 20);
    const auto some = RunRings(kept, fewer, 20);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      EXPECT_EQ(all[j].iterations, some[j].iterations);
      EXPECT_NEAR(all[j].compute_seconds, some[j].compute_seconds, 1e-6) << round << " " << j;
    }
  }
  EXPECT_GE(dropped, 100u);
}

TEST(TraceSpeed, RingsOfWholeUsesRunAsTheSimulatorSays) {
  Random random(11);
  double coarse_sum = 0;
  double exact_sum = 0;
  for (int round = 0; round < 30; ++round) {
    const std::vector<double> gbps(kLinks, 100);
    const std::vector<RingJob> jobs = RandomJobs(random, false);
    constexpr double kWindow = 100;
    const auto rings = RunRings(gbps, jobs, kWindow, 1e9);
    const auto coarse = RunRings(gbps, jobs, kWindow);
    Simulator exact(gbps);
    for (const RingJob& job : jobs) exact.AddJob(FlowsOfRings(job));
    ASSERT_TRUE(exact.RunUntil(kWindow).ok());
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const double computed =
          exact.Totals(SimulatedJobId(static_cast<std::int32_t>(j))).compute_seconds;
      EXPECT_NEAR(rings[j].compute_seconds, computed, 0.01) << round << " " << j;
      coarse_sum += coarse[j].compute_seconds;
      exact_sum += computed;
    }
  }
  EXPECT_NEAR(coarse_sum / exact_sum, 1, 0.01);
}

TEST(TraceSpeed, AFastHopTakesNoMoreThanItsRingCanPassOn) {
  // The first job's ring has a hop at 100 of 200 Gbit/s; the second's only one shares the fast
  // link.
  const std::vector<double> gbps{100, 200};
  RingJob first;
  first.compute_seconds = 1;
  first.level = 1;
  first.rings = {{12.5e9, {0, 1}, {1, 1}}};  // a second at 100 Gbit/s
  RingJob second = first;
  second.level = 0;
  second.rings = {{12.5e9, {1}, {0.5}}};  // half of its rate crosses the fast link
  const auto totals = RunRings(gbps, {first, second}, 100.5);
  EXPECT_NEAR(totals[0].iterations, 50, 1);
  // What is left on the fast link moves the second in half a second at the worst, and in a quarter
  // while the first computes.
  EXPECT_GT(totals[1].iterations, 66);
  EXPECT_LT(totals[1].iterations, 81);
}

TEST(TraceSpeed, OffsetsOfCassiniKeepEqualJobsOutOfEachOthersWay) {
  crux::Problem problem;
  problem.links = {{"l", 100}};
  for (const char* id : {"a", "b"}) {
    crux::ContendingJob job;
    job.id = id;
    job.gpus = 8;
    job.flop_per_iteration = 1e15;
    job.compute_seconds = 1;
    job.communication_start = 0.7;
    job.flows.push_back({"f", 0.45 * 12.5e9, {{0}}});
    problem.jobs.push_back(job);
  }
  problem.jobs[1].communication_start = 0.9;
  problem.jobs[1].compute_seconds = 1.15 / 1.35;  // an iteration as long as the first's
  problem.jobs[1].flows[0].bytes *= problem.jobs[1].compute_seconds;
  const auto slowdown = [&](crux::Policy policy) {
    const auto solution = crux::DecideBy(policy, problem);
    EXPECT_TRUE(solution.ok());
    std::vector<RingJob> jobs;
    for (std::size_t j = 0; j < 2; ++j) {
      const crux::ContendingJob& job = problem.jobs[j];
      jobs.push_back({job.compute_seconds,
                      job.communication_start,
                      0,
                      solution->jobs[j].offset_seconds,
                      true,
                      {{job.flows[0].bytes, {0}, {1}}}});
    }
    const auto totals = RunRings({100}, jobs, 115);
    return 200.0 / static_cast<double>(totals[0].iterations + totals[1].iterations);
  };
  EXPECT_NEAR(slowdown(crux::Policy::kCassini), 1, 0.02);
  EXPECT_GT(slowdown(crux::Policy::kEcmp), 1.1);
}

TEST(TraceSpeed, ALoneJobComputesItsShareOfAnIteration) {
  RingJob job;
  job.compute_seconds = 1;
  // One second at 100 Gbit/s; the parts on the second link ask for less.
  job.rings = {{12.5e9, {0, 1}, {1, 0.5}}};
  EXPECT_NEAR(ComputeShares({100, 100}, {job}, 40).front(), 0.5, 0.004);
}

}  // namespace
}  // namespace yardmaster::sim
