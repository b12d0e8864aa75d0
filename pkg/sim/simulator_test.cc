#include "pkg/sim/simulator.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/base/random.h"

namespace yardmaster::sim {
namespace {

using ::testing::ElementsAre;

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

TEST(Simulator, AJobAloneTakesItsOwnTime) {
  Simulator simulator({8, 8});
  SimulatedJob spec = Job(2, 0.5, 3, {0, 1});
  spec.iterations = 5;
  const SimulatedJobId job = simulator.AddJob(spec);
  const auto finished = simulator.RunUntilFinish(1000);
  ASSERT_TRUE(finished.ok());
  EXPECT_THAT(*finished, ElementsAre(job));
  EXPECT_DOUBLE_EQ(simulator.Totals(job).finished_seconds, 5 * (1 + 3.0));
  EXPECT_DOUBLE_EQ(simulator.Totals(job).compute_seconds, 5 * 2.0);
  EXPECT_DOUBLE_EQ(simulator.Totals(job).flow_bytes[0], 15e9);
}

TEST(Simulator, JitterKeepsTheMeanAndIsTheSameForASeed) {
  const auto seconds = [](double jitter, std::uint64_t seed) {
    Simulator simulator({8}, {.compute_jitter = jitter, .seed = seed});
    SimulatedJob spec = Job(2, 0.5, 0.1, {0});  // hidden, so that only compute counts
    spec.iterations = 2000;
    const SimulatedJobId job = simulator.AddJob(spec);
    EXPECT_TRUE(simulator.RunUntil(1e5).ok());
    return simulator.Totals(job).finished_seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(0, 1), 4000);
  EXPECT_NEAR(seconds(0.1, 1), 4000, 4000 * 0.1 / std::sqrt(3 * 2000) * 4);
  EXPECT_EQ(seconds(0.1, 1), seconds(0.1, 1));
  EXPECT_NE(seconds(0.1, 1), seconds(0.1, 2));
}

TEST(Simulator, CommunicationThatIsHiddenCostsNothing) {
  Simulator simulator({8});
  SimulatedJob spec = Job(2, 0.5, 1, {0});
  spec.iterations = 7;
  const SimulatedJobId job = simulator.AddJob(spec);
  ASSERT_TRUE(simulator.RunUntil(100).ok());
  EXPECT_DOUBLE_EQ(simulator.Totals(job).finished_seconds, 14);
}

TEST(Simulator, FlowsOfAJobStartAtTheirOwnInstants) {
  Simulator simulator({8, 8});
  // Early: 1 s of traffic at 1 s. Late: 3 s at 3 s on another link, hidden but for 2 s.
  SimulatedJob spec = Job(4, 0.25, 1, {0});
  spec.flows.push_back(Job(4, 0.75, 3, {1}).flows[0]);
  spec.iterations = 10;
  const SimulatedJobId job = simulator.AddJob(spec);
  ASSERT_TRUE(simulator.RunUntil(0.5).ok());
  EXPECT_EQ(simulator.RateOf(job, 0), 0);
  ASSERT_TRUE(simulator.RunUntil(1.5).ok());
  EXPECT_EQ(simulator.RateOf(job, 0), 1e9);
  EXPECT_EQ(simulator.RateOf(job, 1), 0);
  ASSERT_TRUE(simulator.RunUntil(3.5).ok());
  EXPECT_EQ(simulator.RateOf(job, 0), 0);
  EXPECT_EQ(simulator.RateOf(job, 1), 1e9);
  ASSERT_TRUE(simulator.RunUntil(1000).ok());
  EXPECT_DOUBLE_EQ(simulator.Totals(job).finished_seconds, 10 * 6);
}

TEST(Simulator, AFlowOfEveryThirdIterationHoldsUpEveryThird) {
  Simulator simulator({8, 8});
  SimulatedJob spec = Job(1, 1, 1, {0});
  spec.flows.push_back(Job(1, 1, 5, {1}).flows[0]);
  spec.flows[1].every_iterations = 3;
  spec.iterations = 9;
  const SimulatedJobId job = simulator.AddJob(spec);
  ASSERT_TRUE(simulator.RunUntil(4.5).ok());
  EXPECT_EQ(simulator.RateOf(job, 1), 0);
  ASSERT_TRUE(simulator.RunUntil(1000).ok());
  EXPECT_DOUBLE_EQ(simulator.Totals(job).finished_seconds, 3 * (2 + 2 + 6));
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
  spec.iterations = 6;
  const SimulatedJobId quick = in_time.AddJob(spec);
  ASSERT_TRUE(in_time.RunUntil(1000).ok());
  // The last one begins at 11 and is awaited.
  EXPECT_DOUBLE_EQ(in_time.Totals(quick).finished_seconds, 14);
  // Written for 9 s, it is late: after the one at 3-12 the fourth iteration begins at 12 instead of
  // 6, writes at 13-22, the sixth begins at 22, writes at 23-32.
  Simulator late({8, 8});
  spec.flows[1].bytes = 9e9;
  const SimulatedJobId slow = late.AddJob(spec);
  ASSERT_TRUE(late.RunUntil(1000).ok());
  EXPECT_DOUBLE_EQ(late.Totals(slow).finished_seconds, 32);
  EXPECT_DOUBLE_EQ(late.Totals(slow).flow_bytes[1], 27e9);
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
  simulator.SetLevel(a, 3);
  ASSERT_TRUE(simulator.RunUntil(1.5).ok());
  EXPECT_EQ(simulator.RateOf(a, 0), 0);
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
  high.iterations = 1;
  const SimulatedJobId b = simulator.AddJob(high);
  ASSERT_TRUE(simulator.RunUntil(2).ok());
  EXPECT_EQ(simulator.RateOf(a, 0), 0);
  EXPECT_EQ(simulator.RateOf(b, 0), 1e9);
  ASSERT_TRUE(simulator.RunUntil(100).ok());
  EXPECT_DOUBLE_EQ(simulator.Totals(b).finished_seconds, 3);
}

TEST(Simulator, WeightsDivideALevel) {
  Simulator simulator({8});
  SimulatedJob one = Job(1, 0, 9, {0});
  SimulatedJob three = Job(1, 0, 9, {0});
  three.flows[0].weight = 3;
  const SimulatedJobId a = simulator.AddJob(one);
  const SimulatedJobId b = simulator.AddJob(three);
  ASSERT_TRUE(simulator.RunUntil(1).ok());
  EXPECT_DOUBLE_EQ(simulator.RateOf(a, 0), 0.25e9);
  EXPECT_DOUBLE_EQ(simulator.RateOf(b, 0), 0.75e9);
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

TEST(Simulator, AFailedLinkHoldsItsFlowsUntilItIsBackOrTheyMove) {
  Simulator simulator({8, 8});
  SimulatedJob spec = Job(1, 1, 2, {0});
  spec.start = JobStart::kReadyToCommunicate;
  spec.iterations = 1;
  const SimulatedJobId waits = simulator.AddJob(spec);
  const SimulatedJobId moves = simulator.AddJob(spec);
  ASSERT_TRUE(simulator.RunUntil(2).ok());  // half of each is through
  simulator.SetCapacity(0, 0);
  ASSERT_TRUE(simulator.RunUntil(5).ok());
  EXPECT_DOUBLE_EQ(simulator.Totals(waits).flow_bytes[0], 1e9);
  simulator.SetPath(moves, 0, {1});
  ASSERT_TRUE(simulator.RunUntil(10).ok());
  EXPECT_DOUBLE_EQ(simulator.Totals(moves).finished_seconds, 6);
  simulator.SetCapacity(0, 4);
  ASSERT_TRUE(simulator.RunUntil(20).ok());
  EXPECT_DOUBLE_EQ(simulator.Totals(waits).finished_seconds, 12);
}

TEST(Simulator, ARemovedJobLeavesItsBandwidthToTheOthers) {
  Simulator simulator({8});
  const SimulatedJobId a = simulator.AddJob(Job(1, 0, 9, {0}));
  const SimulatedJobId b = simulator.AddJob(Job(1, 0, 9, {0}));
  ASSERT_TRUE(simulator.RunUntil(2).ok());
  simulator.RemoveJob(a);
  ASSERT_TRUE(simulator.RunUntil(3).ok());
  EXPECT_DOUBLE_EQ(simulator.RateOf(b, 0), 1e9);
  EXPECT_DOUBLE_EQ(simulator.Totals(a).flow_bytes[0], 1e9);
  EXPECT_DOUBLE_EQ(simulator.Totals(b).flow_bytes[0], 2e9);
}

TEST(Simulator, AnOffsetDelaysTheStart) {
  Simulator simulator({8});
  SimulatedJob spec = Job(1, 1, 1, {0});
  spec.offset_seconds = 3;
  spec.iterations = 1;
  const SimulatedJobId job = simulator.AddJob(spec);
  ASSERT_TRUE(simulator.RunUntil(10).ok());
  EXPECT_DOUBLE_EQ(simulator.Totals(job).finished_seconds, 5);
}

TEST(Simulator, AnIterationBeginsNotBeforeItIsDueAndALateOneCatchesUp) {
  Simulator simulator({8});
  SimulatedJob spec = Job(2, 1, 0.5, {0});
  spec.iterations = 5;
  spec.period_seconds = 3;
  const SimulatedJobId job = simulator.AddJob(spec);
  simulator.SetCapacity(0, 0);
  ASSERT_TRUE(simulator.RunUntil(4).ok());
  simulator.SetCapacity(0, 8);  // the first ends at 4.5, not 2.5; the fifth begins when it is due
  ASSERT_TRUE(simulator.RunUntil(100).ok());
  EXPECT_DOUBLE_EQ(simulator.Totals(job).finished_seconds, 4 * 3 + 2.5);
}

TEST(Simulator, AWindowFullOfTinyIterationsIsRefusedNotWaitedFor) {
  Simulator simulator({8}, {.max_events = 1000});
  simulator.AddJob(Job(1e-9, 1, 1e-9, {0}));
  EXPECT_EQ(simulator.RunUntil(1e6).code(), absl::StatusCode::kResourceExhausted);
}

// Random jobs come, go, change level and path while links fail; the books have to balance always.
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
    const auto any = [&] { return jobs[random.Below(jobs.size())]; };
    for (int step = 0; step < 150; ++step) {
      switch (random.Below(5)) {
        case 0: {
          SimulatedJob spec = Job(0.1 + random.Unit(), random.Unit(), 0.1 + random.Unit(), path(),
                                  static_cast<std::int32_t>(random.Below(4)));
          spec.flows.push_back({1e8 + 1e9 * random.Unit(), path(), 0.5 + random.Unit()});
          jobs.push_back(simulator.AddJob(spec));
          break;
        }
        case 1:
          if (!jobs.empty() && random.Below(3) == 0) simulator.RemoveJob(any());
          break;
        case 2:
          if (!jobs.empty()) simulator.SetLevel(any(), random.Below(4));
          break;
        case 3:
          if (!jobs.empty()) simulator.SetPath(any(), random.Below(2), path());
          break;
        default:
          simulator.SetCapacity(random.Below(links), random.Below(4) == 0 ? 0 : 8);
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
