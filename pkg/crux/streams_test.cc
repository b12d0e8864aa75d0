#include "pkg/crux/streams.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Flow OnRing(std::int32_t ring, double bytes, const std::vector<std::int32_t>& links) {
  Flow flow{"f", bytes, {links}};
  flow.ring = ring;
  return flow;
}

ContendingJob JobOf(std::vector<Flow> flows) {
  ContendingJob job{"a", 8, 1e12, 1, 0.5, {}};
  job.flows = std::move(flows);
  return job;
}

std::vector<Stream> OnFirstPaths(const ContendingJob& job, Merging merging = Merging::kRings) {
  return StreamsOf(job, std::vector<std::int32_t>(job.flows.size(), 0), merging);
}

TEST(StreamsOf, AJobWithoutFlowsHasNone) {
  EXPECT_THAT(OnFirstPaths(JobOf({})), IsEmpty());
  EXPECT_THAT(OnFirstPaths(JobOf({}), Merging::kJobs), IsEmpty());
}

TEST(StreamsOf, AFlowWithoutARingMovesOnItsOwn) {
  const auto streams = OnFirstPaths(JobOf({OnRing(-1, 6, {3, 1}), OnRing(-1, 2, {1})}));
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].bytes, 6);
  EXPECT_EQ(streams[0].start, 0.5);
  EXPECT_THAT(streams[0].links, ElementsAre(1, 3));
  EXPECT_THAT(streams[0].uses, ElementsAre(1, 1));
  EXPECT_EQ(streams[1].bytes, 2);
  EXPECT_THAT(streams[1].links, ElementsAre(1));
}

TEST(StreamsOf, TheHopsOfARingMoveAtOneRateInProportionToTheirBytes) {
  const auto streams = OnFirstPaths(
      JobOf({OnRing(4, 2, {1, 2}), OnRing(-1, 9, {0}), OnRing(4, 8, {2, 5}), OnRing(4, 4, {2})}));
  ASSERT_EQ(streams.size(), 2u) << "in the order of their first flows";
  EXPECT_EQ(streams[0].bytes, 8);
  EXPECT_THAT(streams[0].links, ElementsAre(1, 2, 5));
  EXPECT_THAT(streams[0].uses, ElementsAre(0.25, 0.25 + 1 + 0.5, 1));
  EXPECT_EQ(streams[1].bytes, 9);
}

TEST(StreamsOf, HopsThatDoNotRunTogetherAreStreamsOfTheirOwn) {
  ContendingJob job = JobOf(std::vector<Flow>(5, OnRing(0, 1, {0})));
  job.flows[1].communication_start = 0.75;
  job.flows[2].every_iterations = 2;
  job.flows[3].background = true;
  job.flows[4].communication_start = 0.5;  // the job's, said again
  const auto streams = OnFirstPaths(job);
  ASSERT_EQ(streams.size(), 4u);
  EXPECT_THAT(streams[0].uses, ElementsAre(2));
  EXPECT_EQ(streams[1].start, 0.75);
  EXPECT_EQ(streams[2].every_iterations, 2);
  EXPECT_TRUE(streams[3].background);
  EXPECT_EQ(OnFirstPaths(job, Merging::kJobs).size(), 4u);
}

// What streams put on a link, by what else tells them apart.
using Loads = std::map<std::tuple<std::int32_t, double, std::int32_t, bool>, double>;

TEST(StreamsOf, EveryLinkCarriesTheBytesOfItsFlowsHoweverTheyAreMerged) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Problem problem = testing::RandomProblem({.jobs = 4,
                                              .links = 5,
                                              .flows = 6,
                                              .candidates = 3,
                                              .several_starts = true,
                                              .storage = true},
                                             seed);
    const Paths paths = RandomPaths(problem, seed);
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      ContendingJob& job = problem.jobs[j];
      Loads of_flows;
      for (std::size_t f = 0; f < job.flows.size(); ++f) {
        Flow& flow = job.flows[f];
        flow.ring = static_cast<std::int32_t>(random.Below(3)) - 1;
        for (const std::int32_t link : flow.paths[paths[j][f]]) {
          of_flows[{link, StartOf(job, flow), flow.every_iterations, flow.background}] +=
              flow.bytes;
        }
      }
      for (const Merging merging : {Merging::kRings, Merging::kJobs}) {
        Loads of_streams;
        for (const Stream& stream : StreamsOf(job, paths[j], merging)) {
          ASSERT_EQ(stream.links.size(), stream.uses.size());
          EXPECT_TRUE(std::is_sorted(stream.links.begin(), stream.links.end()));
          for (std::size_t i = 0; i < stream.links.size(); ++i) {
            of_streams[{stream.links[i], stream.start, stream.every_iterations,
                        stream.background}] += stream.bytes * stream.uses[i];
          }
        }
        ASSERT_EQ(of_streams.size(), of_flows.size());
        for (const auto& [key, bytes] : of_flows) {
          EXPECT_NEAR(of_streams.at(key), bytes, 1e-6 * bytes);
        }
      }
    }
  }
}

}  // namespace
}  // namespace yardmaster::crux
