#include "pkg/placement/solver/uniform_solver.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/placement/solver/gang_search.h"
#include "pkg/placement/testing/search_problems.h"

namespace yardmaster::placement {
namespace {

// Pod splits, segment splits, pods and segments of a plan.
Objective Measure(const fabric::Places& places, const UniformPlan& plan, int pieces,
                  const std::vector<int>& capacity) {
  Objective o;
  std::vector<int> used(capacity.size(), 0);
  std::vector<std::uint8_t> pods(static_cast<std::size_t>(places.num_fabric_pods()), 0);
  for (const auto& parts : plan.parts) {
    std::vector<int> mine;
    std::vector<int> my_pods;
    int sum = 0;
    for (const SegmentCount& part : parts) {
      mine.push_back(part.segment);
      my_pods.push_back(places.fabric_pod_of(fabric::SegmentId(part.segment)).value);
      pods[my_pods.back()] = 1;
      used[part.segment] += part.count;
      sum += part.count;
    }
    EXPECT_EQ(sum, pieces);
    for (auto* list : {&mine, &my_pods}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    o.data_split_segments += static_cast<int>(mine.size()) - 1;
    o.data_split_fabric_pods += static_cast<int>(my_pods.size()) - 1;
  }
  for (std::size_t s = 0; s < used.size(); ++s) {
    EXPECT_LE(used[s], capacity[s]);
    if (used[s] > 0) ++o.segments;
  }
  o.fabric_pods = std::count(pods.begin(), pods.end(), 1);
  return o;
}

// The same gang as a general problem: each component is one data group of single workers.
SearchProblem General(const Shape& shape, const UniformProblem& uniform) {
  SearchProblem problem;
  problem.max_stages_per_segment = uniform.max_components;
  for (int c = 0; c < uniform.components; ++c) {
    SearchGroup group;
    for (int u = 0; u < uniform.pieces; ++u) {
      group.pieces.push_back(static_cast<int>(problem.piece_size.size()));
      problem.piece_size.push_back(1);
      problem.component.push_back(c);
      problem.pod_set.push_back(uniform.may_cross_pods ? group.pieces.back() : c);
      problem.stages.push_back({c});
    }
    if (uniform.pieces > 1) problem.groups.push_back(group);
  }
  problem.capacity = shape.capacity;
  for (fabric::SegmentId s : shape.cluster.places->segments()) {
    problem.pod_of_segment.push_back(shape.cluster.places->fabric_pod_of(s).value);
  }
  return problem;
}

// Components that take part in the segment with the most of them.
int MostTogether(const UniformPlan& plan, std::size_t segments) {
  std::vector<int> count(segments, 0);
  for (const auto& parts : plan.parts) {
    std::vector<int> mine;
    for (const SegmentCount& part : parts) mine.push_back(part.segment);
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    for (int s : mine) ++count[static_cast<std::size_t>(s)];
  }
  return *std::max_element(count.begin(), count.end());
}

struct Agreement {
  int split = 0;
  int exact = 0;  // of the split ones
};

// Solves at random what `max_components` limits, and the same by the general search.
void ExpectAgreement(std::uint64_t seed, int rounds, const std::vector<int>& limits,
                     Agreement& total) {
  Random random(seed);
  for (int round = 0; round < rounds; ++round) {
    const Shape shape = RandomShape(random, 6);
    UniformProblem problem{shape.cluster.places.get(), shape.capacity};
    problem.pieces = 1 + static_cast<int>(random.Below(4));
    problem.components = 1 + static_cast<int>(random.Below(3));
    problem.may_cross_pods = random.Below(3) == 0;
    problem.max_components = limits[random.Below(limits.size())];
    const UniformPlan plan =
        SolveUniform(problem, std::vector<SegmentScore>(shape.capacity.size()));
    const SearchResult want = SearchPlaces(General(shape, problem), {});
    ASSERT_TRUE(want.exact);
    if (!plan.found) {
      ASSERT_TRUE(!plan.exact || want.place.empty());
      ASSERT_TRUE(plan.exact || problem.max_components > 0);
      continue;
    }
    ASSERT_FALSE(want.place.empty());
    const Objective got = Measure(*shape.cluster.places, plan, problem.pieces, shape.capacity);
    if (problem.max_components > 0) {
      ASSERT_LE(MostTogether(plan, shape.capacity.size()), problem.max_components);
    }
    if (plan.exact) {
      ASSERT_EQ(got, want.objective);
      ASSERT_EQ(plan.segment_splits, got.data_split_segments);
      ASSERT_EQ(plan.segments, got.segments);
    }
    const Objective bound{0, plan.pod_splits, 0, plan.segment_splits, plan.pods, plan.segments};
    ASSERT_LE(bound, want.objective);
    if (want.objective.data_split_segments == 0) continue;
    ++total.split;
    total.exact += plan.exact;
  }
}

TEST(UniformSolverTest, AgreesWithTheGeneralSearch) {
  Agreement total;
  ExpectAgreement(11, 6000, {0}, total);
  EXPECT_GT(total.split, 100);
}

TEST(UniformSolverTest, AgreesWithTheGeneralSearchWhereFewComponentsMayShareASegment) {
  Agreement total;
  ExpectAgreement(12, 6000, {1, 2, 3}, total);
  EXPECT_GT(total.split, 100);
  EXPECT_GT(total.exact, total.split * 9 / 10);
}

}  // namespace
}  // namespace yardmaster::placement
