#include "simulation/simulator/simulator.h"

#include <cmath>
#include <gtest/gtest.h>

#include "pkg/base/random.h"

namespace yardmaster::sim {
namespace {

// 8 Gbit/s: a gigabyte a second.
SimulatedJob Job(double compute, double start, double seconds, std::vector<std::int32_t> links,
                 std::int32_t level = 0) {
  SimulatedJob spec;
  spec.compute_seconds = compute;
  spec.level = level;
  FlowSpec flow;
  flow.bytes = seconds * 1e9;
  flow.links = std::move(links);
  flow.communication_start = start;
  spec.flows.push_back(std::move(flow));
  return spec;
}

// The job's n-th iteration ends at `seconds`, which lie ahead.
void ExpectEnds(Simulator& simulator, SimulatedJobId job, std::int64_t n, double seconds) {
  ASSERT_TRUE(simulator.RunUntil(seconds - 1e-6).ok());
  EXPECT_EQ(simulator.Totals(job).iterations, n - 1);
  ASSERT_TRUE(simulator.RunUntil(seconds + 1e-6).ok());
  EXPECT_EQ(simulator.Totals(job).iterations, n);
}

TEST(Simulator, AJobAloneTakesItsOwnTime) {
  Simulator simulator({8, 8});
  const SimulatedJobId job = simulator.AddJob(Job(2, 0.5, 3, {0, 1}));
  ExpectEnds(simulator, job, 5, 5 * (1 + 3.0));
  EXPECT_NEAR(simulator.Totals(job).compute_seconds, 5 * 2.0, 1e-5);
  EXPECT_DOUBLE_EQ(simulator.Totals(job).flow_bytes[0], 15e9);
}

TEST(Simulator, JitterKeepsTheMeanAndIsTheSameForASeed) {
  const auto seconds = [](double jitter, std::uint64_t seed) {
    Simulator simulator({8}, {.compute_jitter = jitter, .seed = seed});
    // Hidden, so that only compute counts.
    const SimulatedJobId job = simulator.AddJob(Job(2, 0.5, 0.1, {0}));
    double now = 0;
    while (simulator.Totals(job).iterations < 200) {
      now += 0.01;
      EXPECT_TRUE(simulator.RunUntil(now).ok());
    }
    return now;
  };
  EXPECT_NEAR(seconds(0, 1), 400, 0.02);
  EXPECT_NEAR(seconds(0.1, 1), 400, 400 * 0.1 / std::sqrt(3 * 200) * 4);
  EXPECT_EQ(seconds(0.1, 1), seconds(0.1, 1));
  EXPECT_NE(seconds(0.1, 1), seconds(0.1, 2));
}

TEST(Simulator, CommunicationThatIsHiddenCostsNothing) {
  Simulator simulator({8});
  ExpectEnds(simulator, simulator.AddJob(Job(2, 0.5, 1, {0})), 7, 14);
}

TEST(Simulator, FlowsOfAJobStartAtTheirOwnInstants) {
  Simulator simulator({8, 8});
  // Early: 1 s of traffic at 1 s. Late: 3 s at 3 s on another link, hidden but for 2 s.
  SimulatedJob spec = Job(4, 0.25, 1, {0});
  spec.flows.push_back(Job(4, 0.75, 3, {1}).flows[0]);
  const SimulatedJobId job = simulator.AddJob(spec);
  ASSERT_TRUE(simulator.RunUntil(0.5).ok());
  EXPECT_EQ(simulator.RateOf(job, 0), 0);
  ASSERT_TRUE(simulator.RunUntil(1.5).ok());
  EXPECT_EQ(simulator.RateOf(job, 0), 1e9);
  EXPECT_EQ(simulator.RateOf(job, 1), 0);
  ASSERT_TRUE(simulator.RunUntil(3.5).ok());
  EXPECT_EQ(simulator.RateOf(job, 0), 0);
  EXPECT_EQ(simulator.RateOf(job, 1), 1e9);
  ExpectEnds(simulator, job, 10, 10 * 6);
}

TEST(Simulator, AFlowOfEveryThirdIterationHoldsUpEveryThird) {
  Simulator simulator({8, 8});
  SimulatedJob spec = Job(1, 1, 1, {0});
  spec.flows.push_back(Job(1, 1, 5, {1}).flows[0]);
  spec.flows[1].every_iterations = 3;
  const SimulatedJobId job = simulator.AddJob(spec);
  ASSERT_TRUE(simulator.RunUntil(4.5).ok());
  EXPECT_EQ(simulator.RateOf(job, 1), 0);
  ExpectEnds(simulator, job, 9, 3 * (2 + 2 + 6));
  EXPECT_DOUBLE_EQ(simulator.Totals(job).flow_bytes[1], 15e9);
}

TEST(Simulator, ABackgroundFlowIsAwaitedOnlyWhereItRunsAgain) {
  // Iterations of 2 s; every second one begins to write for 3 s when its compute ends, which is
  // done before the next but one begins.
  Simulator in_time({8, 8});
  SimulatedJob spec = Job(1, 1, 1, {0});
  spec.flows.push_back(Job(1, 1, 3, {1}).flows[0]);
  spec.flows[1].every_iterations = 2;
  spec.flows[1].background = true;
  ExpectEnds(in_time, in_time.AddJob(spec), 6, 12);
  // Written for 9 s, it is late: after the one at 3-12 the fourth iteration begins at 12 instead of
  // 6, writes at 13-22, the sixth begins at 22.
  Simulator late({8, 8});
  spec.flows[1].bytes = 9e9;
  const SimulatedJobId slow = late.AddJob(spec);
  ExpectEnds(late, slow, 4, 14);
  ExpectEnds(late, slow, 6, 24);
}

TEST(Simulator, TheBackgroundIsCarriedBelowEveryLevel) {
  Simulator simulator({8});
  SimulatedJob writer = Job(1, 1, 4, {0}, 7);
  writer.flows[0].background = true;
  writer.start = JobStart::kReadyToCommunicate;
  const SimulatedJobId a = simulator.AddJob(writer);
  SimulatedJob low = Job(1, 1, 2, {0}, 0);
  low.start = JobStart::kReadyToCommunicate;
  const SimulatedJobId b = simulator.AddJob(low);
  ASSERT_TRUE(simulator.RunUntil(1).ok());
  EXPECT_EQ(simulator.RateOf(a, 0), 0);
  EXPECT_EQ(simulator.RateOf(b, 0), 1e9);
  ASSERT_TRUE(simulator.RunUntil(2.5).ok());
  EXPECT_EQ(simulator.RateOf(a, 0), 1e9);
}

TEST(Simulator, TwoOfOneLevelShareALinkEqually) {
  Simulator simulator({8});
  SimulatedJob spec = Job(1, 1, 2, {0});
  spec.start = JobStart::kReadyToCommunicate;
  const SimulatedJobId a = simulator.AddJob(spec);
  const SimulatedJobId b = simulator.AddJob(spec);
  ASSERT_TRUE(simulator.RunUntil(1).ok());
  EXPECT_DOUBLE_EQ(simulator.RateOf(a, 0), 0.5e9);
  EXPECT_DOUBLE_EQ(simulator.RateOf(b, 0), 0.5e9);
  ASSERT_TRUE(simulator.RunUntil(10).ok());
  EXPECT_EQ(simulator.Totals(a).iterations, 2);  // 4 s of sharing, 1 s of compute
  EXPECT_DOUBLE_EQ(simulator.Totals(b).compute_seconds, 2);
}

TEST(Simulator, AHigherLevelTakesTheLinkAtOnce) {
  Simulator simulator({8});
  SimulatedJob low = Job(1, 1, 4, {0}, 0);
  low.start = JobStart::kReadyToCommunicate;
  const SimulatedJobId a = simulator.AddJob(low);
  ASSERT_TRUE(simulator.RunUntil(1).ok());
  SimulatedJob high = Job(1, 1, 2, {0}, 1);
  high.start = JobStart::kReadyToCommunicate;
  const SimulatedJobId b = simulator.AddJob(high);
  ASSERT_TRUE(simulator.RunUntil(2).ok());
  EXPECT_EQ(simulator.RateOf(a, 0), 0);
  EXPECT_EQ(simulator.RateOf(b, 0), 1e9);
  ExpectEnds(simulator, b, 1, 3);
}

TEST(Simulator, MaxMinLeavesNobodyWithLessThanNeedBe) {
  // The classic line: one flow over both links, one on each.
  Simulator simulator({8, 16});
  const SimulatedJobId both = simulator.AddJob(Job(1, 0, 9, {0, 1}));
  const SimulatedJobId first = simulator.AddJob(Job(1, 0, 9, {0}));
  const SimulatedJobId second = simulator.AddJob(Job(1, 0, 9, {1}));
  ASSERT_TRUE(simulator.RunUntil(1).ok());
  EXPECT_DOUBLE_EQ(simulator.RateOf(both, 0), 0.5e9);
  EXPECT_DOUBLE_EQ(simulator.RateOf(first, 0), 0.5e9);
  EXPECT_DOUBLE_EQ(simulator.RateOf(second, 0), 1.5e9);
}

TEST(Simulator, AnOffsetDelaysTheStart) {
  Simulator simulator({8});
  SimulatedJob spec = Job(1, 1, 1, {0});
  spec.offset_seconds = 3;
  ExpectEnds(simulator, simulator.AddJob(spec), 1, 5);
}

TEST(Simulator, AnIterationBeginsNotBeforeItIsDueAndALateOneCatchesUp) {
  Simulator simulator({8});
  SimulatedJob spec = Job(2, 1, 0.5, {0});
  spec.period_seconds = 3;
  const SimulatedJobId job = simulator.AddJob(spec);
  SimulatedJob first = Job(1000, 1, 4, {0}, 1);  // has the link for the first 4 s
  first.start = JobStart::kReadyToCommunicate;
  simulator.AddJob(first);
  ExpectEnds(simulator, job, 1, 4.5);          // not 2.5
  ExpectEnds(simulator, job, 5, 4 * 3 + 2.5);  // begins when it is due
}

TEST(Simulator, AWindowFullOfTinyIterationsIsRefusedNotWaitedFor) {
  Simulator simulator({8}, {.max_events = 1000});
  simulator.AddJob(Job(1e-9, 1, 1e-9, {0}));
  EXPECT_EQ(simulator.RunUntil(1e6).code(), absl::StatusCode::kResourceExhausted);
}

// Random jobs come; the books have to balance always.
TEST(Simulator, NothingIsLostAndNothingIsIdleThatCouldBeUsed) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Random random(seed);
    const std::int32_t links = 8;
    Simulator simulator(std::vector<double>(links, 8));
    const auto path = [&] {
      std::vector<std::int32_t> all(links);
      for (std::int32_t l = 0; l < links; ++l) all[l] = l;
      random.Shuffle(all);
      all.resize(1 + random.Below(3));
      return all;
    };
    std::vector<SimulatedJobId> jobs;
    for (int step = 0; step < 150; ++step) {
      if (random.Below(5) == 0) {
        SimulatedJob spec = Job(0.1 + random.Unit(), random.Unit(), 0.1 + random.Unit(), path(),
                                static_cast<std::int32_t>(random.Below(4)));
        spec.flows.push_back({1e8 + 1e9 * random.Unit(), path(), random.Unit()});
        jobs.push_back(simulator.AddJob(spec));
      }
      ASSERT_TRUE(simulator.RunUntil(simulator.now() + random.Unit()).ok());
      const absl::Status books = simulator.CheckConservation();
      ASSERT_TRUE(books.ok()) << MessageOf(books);
    }
    for (const SimulatedJobId job : jobs) {
      const JobTotals totals = simulator.Totals(job);
      EXPECT_GE(totals.flow_bytes[1], 1e8 * static_cast<double>(totals.iterations));
    }
  }
}

}  // namespace
}  // namespace yardmaster::sim
