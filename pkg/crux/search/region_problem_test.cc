// The problem that a region is, and the way back into the whole.
#include <algorithm>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

#include "pkg/crux/draft.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/search/region.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using ::testing::IsEmpty;

constexpr std::int32_t kAllCandidates = 100;

Problem Crowded(std::uint64_t seed) {
  return testing::RandomProblem(
      {.jobs = 8, .links = 8, .flows = 3, .candidates = 4, .several_starts = true, .storage = true},
      seed);
}

// Share of time that each link is busy with `jobs`, every one at its speed without contention.
std::vector<double> BusyWith(const Problem& problem, const Draft& draft,
                             const std::vector<ContendingJobId>& jobs) {
  std::vector<double> busy(problem.links.size(), 0);
  for (const ContendingJobId j : jobs) {
    const double period =
        IterationSeconds(problem.jobs[j.index()], draft.traffic[j.index()].communication_seconds);
    for (const LinkSeconds& load : draft.loads[j.index()]) busy[load.link] += load.seconds / period;
  }
  return busy;
}

std::vector<std::string> LinksOf(const Problem& problem, std::span<const std::int32_t> path) {
  std::vector<std::string> ids;
  for (const std::int32_t link : path) ids.push_back(problem.links[link].id);
  return ids;
}

class RegionProblemTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  Region Cut(const std::vector<ContendingJobId>& jobs, std::int32_t candidates) const {
    const auto busy = BusyWith(problem_, draft_, AllJobs(problem_.jobs.size()));
    return CutRegion(problem_, draft_, levels_, busy, jobs, candidates);
  }
  const Problem problem_ = Crowded(GetParam());
  const Draft draft_{problem_, RandomPaths(problem_, GetParam())};
  const std::vector<std::int32_t> levels_ = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<ContendingJobId> some_ = {ContendingJobId(1), ContendingJobId(2),
                                              ContendingJobId(6)};
};

TEST_P(RegionProblemTest, OfAllJobsItIsTheWholeProblem) {
  const Region region = Cut(AllJobs(problem_.jobs.size()), kAllCandidates);
  ASSERT_EQ(region.problem.jobs.size(), problem_.jobs.size());
  EXPECT_TRUE(Validate(region.problem).ok());
  for (const Link& link : region.problem.links) {
    EXPECT_NEAR(link.gbps, testing::kGbpsOfOneGigabyte, 1e-9)
        << "no job outside the region uses the link";
  }
  for (std::size_t j = 0; j < problem_.jobs.size(); ++j) {
    EXPECT_EQ(region.problem.jobs[j].id, problem_.jobs[j].id);
    for (std::size_t f = 0; f < problem_.jobs[j].flows.size(); ++f) {
      EXPECT_EQ(region.problem.jobs[j].flows[f].paths.size(),
                problem_.jobs[j].flows[f].paths.size());
    }
  }
}

TEST_P(RegionProblemTest, ALinkLosesWhatJobsOutsideUseAndKeepsATenth) {
  std::vector<ContendingJobId> outside;
  for (const ContendingJobId j : AllJobs(problem_.jobs.size())) {
    if (!std::binary_search(some_.begin(), some_.end(), j)) outside.push_back(j);
  }
  const std::vector<double> used = BusyWith(problem_, draft_, outside);
  for (const Link& link : Cut(some_, kAllCandidates).problem.links) {
    const auto whole = std::find_if(problem_.links.begin(), problem_.links.end(),
                                    [&](const Link& other) { return other.id == link.id; });
    ASSERT_NE(whole, problem_.links.end());
    const double left = 1 - used[static_cast<std::size_t>(whole - problem_.links.begin())];
    EXPECT_NEAR(link.gbps, whole->gbps * std::max(left, 0.1), 1e-9);
  }
}

TEST_P(RegionProblemTest, FlowsKeepWhatTheyAreAndTheirPathComesFirst) {
  for (const std::int32_t candidates : {1, 2, kAllCandidates}) {
    const Region region = Cut(some_, candidates);
    for (std::size_t i = 0; i < some_.size(); ++i) {
      const ContendingJob& job = problem_.jobs[some_[i].index()];
      const ContendingJob& part = region.problem.jobs[i];
      EXPECT_EQ(part.compute_seconds, job.compute_seconds);
      EXPECT_EQ(part.communication_start, job.communication_start);
      ASSERT_EQ(part.flows.size(), job.flows.size());
      for (std::size_t f = 0; f < job.flows.size(); ++f) {
        const Flow& flow = job.flows[f];
        EXPECT_EQ(part.flows[f].bytes, flow.bytes);
        EXPECT_EQ(part.flows[f].communication_start, flow.communication_start);
        EXPECT_EQ(part.flows[f].every_iterations, flow.every_iterations);
        EXPECT_EQ(part.flows[f].background, flow.background);
        EXPECT_EQ(part.flows[f].ring, flow.ring);
        EXPECT_EQ(part.flows[f].paths.size(), std::min(candidates, flow.paths.size()));
        const std::vector<std::int32_t>& of_whole = region.candidates[i][f];
        EXPECT_EQ(of_whole.front(), draft_.paths[some_[i].index()][f]);
        for (std::int32_t p = 0; p < part.flows[f].paths.size(); ++p) {
          EXPECT_EQ(LinksOf(region.problem, part.flows[f].paths[p]),
                    LinksOf(problem_, flow.paths[of_whole[p]]));
        }
      }
    }
  }
}

TEST_P(RegionProblemTest, PutBackUnchangedItChangesNothing) {
  SearchState whole{draft_.paths, levels_};
  PutBack(Cut(some_, 2), whole);
  EXPECT_EQ(whole, (SearchState{draft_.paths, levels_}));
}

TEST_P(RegionProblemTest, WhatWasFoundInItIsFoundInTheWhole) {
  Region region = Cut(some_, kAllCandidates);
  region.state.paths = RandomPaths(region.problem, GetParam() + 1);
  region.state.levels = {7, 5, 6};
  SearchState whole{draft_.paths, levels_};
  PutBack(region, whole);
  EXPECT_EQ(whole.levels, (std::vector<std::int32_t>{0, 7, 5, 3, 4, 5, 6, 7}));
  for (std::size_t i = 0; i < some_.size(); ++i) {
    const std::size_t j = some_[i].index();
    for (std::size_t f = 0; f < problem_.jobs[j].flows.size(); ++f) {
      EXPECT_EQ(
          LinksOf(region.problem, region.problem.jobs[i].flows[f].paths[region.state.paths[i][f]]),
          LinksOf(problem_, problem_.jobs[j].flows[f].paths[whole.paths[j][f]]));
    }
  }
  for (const std::size_t j : {0u, 3u, 4u, 5u, 7u}) EXPECT_EQ(whole.paths[j], draft_.paths[j]);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RegionProblemTest, ::testing::Range<std::uint64_t>(0, 12));

TEST(CutRegion, OfNoJobsIsEmpty) {
  const Problem problem = testing::Example1(2);
  const Draft draft(problem, {{0}, {0}});
  const Region region = CutRegion(problem, draft, {1, 0}, {0.5}, {}, 4);
  EXPECT_THAT(region.problem.jobs, IsEmpty());
  EXPECT_THAT(region.problem.links, IsEmpty());
  SearchState whole{draft.paths, {1, 0}};
  PutBack(region, whole);
  EXPECT_EQ(whole, (SearchState{draft.paths, {1, 0}}));
}

}  // namespace
}  // namespace yardmaster::crux
