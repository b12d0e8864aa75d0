#include "pkg/crux/intensity.h"

#include <gtest/gtest.h>

#include "pkg/crux/path_selection.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

// Computes 4 s, traffic of 1 s on link 0 from half of it on.
ContendingJob Base() { return testing::OneFlowJob("a", 8e12, 8, 4, 0.5, 1, {0}); }

Flow More(double seconds, std::int32_t link) { return {"more", seconds * 1e9, {{link}}}; }

struct Times {
  double communication;
  double span;
  double iteration;
};

Times TimesOf(const ContendingJob& job) {
  const Problem problem = testing::WithLinks(2, 2, {job});
  const std::vector<std::int32_t> paths(job.flows.size(), 0);
  LoadCounter counter(problem);
  const double span = counter.SpanSeconds(job, paths);
  return {counter.CommunicationSeconds(job, paths), span, IterationSeconds(job, span)};
}

TEST(Intensity, FlowsThatStartTogetherSpanTheCommunicationTime) {
  ContendingJob job = Base();
  job.flows.push_back(More(3, 1));
  const Times times = TimesOf(job);
  EXPECT_EQ(times.communication, 3);
  EXPECT_EQ(times.span, 3);
  EXPECT_EQ(times.iteration, 5);
}

TEST(Intensity, ALateFlowAddsItsWaitToTheSpanButNotToTheCommunicationTime) {
  ContendingJob job = Base();
  job.flows.push_back(More(3, 1));
  job.flows[1].communication_start = 0.75;  // 1 s after the other
  const Times times = TimesOf(job);
  EXPECT_EQ(times.communication, 3);
  EXPECT_EQ(times.span, 4);
  EXPECT_EQ(times.iteration, 6);
}

TEST(Intensity, OnOneLinkALateFlowFollowsOrWaitsForItsStart) {
  ContendingJob job = Base();
  job.flows.push_back(More(2, 0));
  job.flows[1].communication_start = 0.625;  // ready while the first is under way
  EXPECT_EQ(TimesOf(job).span, 3);
  job.flows[1].communication_start = 1;  // 1 s after the first is done
  EXPECT_EQ(TimesOf(job).span, 4);
  EXPECT_EQ(TimesOf(job).communication, 3);
}

TEST(Intensity, AnEarlyFlowMovesTheFirstStart) {
  ContendingJob job = Base();
  job.flows.push_back(More(1, 1));
  job.flows[1].communication_start = 0;
  EXPECT_EQ(FirstStart(job), 0);
  const Times times = TimesOf(job);
  EXPECT_EQ(times.span, 3);  // the other is done 3 s after the iteration began
  EXPECT_EQ(times.iteration, 4);
}

TEST(Intensity, WhatRunsSeldomCountsWithItsMeanAndTheBackgroundNotAtAll) {
  ContendingJob job = Base();
  job.flows.push_back(More(8, 0));
  job.flows[1].every_iterations = 4;
  EXPECT_EQ(TimesOf(job).communication, 3);
  job.flows[1].background = true;
  EXPECT_EQ(TimesOf(job).communication, 1);
  const Problem problem = testing::WithLinks(2, 2, {job});
  LoadCounter every(problem, CountedFlows::kEveryIteration);
  EXPECT_EQ(every.CommunicationSeconds(job, std::vector<std::int32_t>{0, 0}), 1);
}

TEST(Intensity, PathsKeepOutOfTheWayOfStorage) {
  ContendingJob writer = testing::OneFlowJob("writer", 8e15, 8, 1, 1, 1, {0});
  writer.flows[0].background = true;
  ContendingJob other = testing::OneFlowJob("other", 8e12, 8, 1, 1, 1, {0});
  other.flows[0].paths.Add(std::vector<std::int32_t>{1});
  const Problem problem = testing::WithLinks(2, 2, {writer, other});
  EXPECT_EQ(SelectPaths(problem)[1][0], 1);
}

}  // namespace
}  // namespace yardmaster::crux
