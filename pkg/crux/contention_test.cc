#include "pkg/crux/contention.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/crux/testing/problems.h"
#include "pkg/crux/testing/valid_compression.h"

namespace yardmaster::crux {
namespace {

using ::testing::IsEmpty;

using Loads = std::vector<std::vector<LinkSeconds>>;
using Groups = std::vector<std::vector<ContendingJobId>>;

ContendingJobId Job(std::size_t j) { return ContendingJobId(static_cast<std::int32_t>(j)); }

Loads RandomLoads(std::size_t jobs, std::int32_t links, Random& random) {
  Loads loads(jobs);
  for (auto& job : loads) {
    for (std::int32_t link = 0; link < links; ++link) {
      if (random.Below(4) == 0) job.push_back({link, 0.1 + random.Unit()});
    }
  }
  return loads;
}

// The components of a relation, by following it from every job.
template <typename Related>
Groups ComponentsOf(std::size_t count, Related related) {
  std::vector<char> seen(count, 0);
  Groups groups;
  for (std::size_t first = 0; first < count; ++first) {
    if (seen[first] != 0) continue;
    seen[first] = 1;
    std::vector<ContendingJobId> group = {Job(first)};
    for (std::size_t at = 0; at < group.size(); ++at) {
      for (std::size_t j = 0; j < count; ++j) {
        if (seen[j] != 0 || !related(group[at].index(), j)) continue;
        seen[j] = 1;
        group.push_back(Job(j));
      }
    }
    std::sort(group.begin(), group.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

TEST(ContendingPairs, AreTheJobsThatShareALinkWithTheLinkThatBothFillMost) {
  Random random(1);
  for (int round = 0; round < 50; ++round) {
    const Loads loads = RandomLoads(7, 6, random);
    const auto pairs = ContendingPairs(6, loads);
    std::size_t found = 0;
    for (std::size_t a = 0; a < loads.size(); ++a) {
      for (std::size_t b = a + 1; b < loads.size(); ++b) {
        double fullest = 0;
        for (const LinkSeconds& x : loads[a]) {
          for (const LinkSeconds& y : loads[b]) {
            if (x.link == y.link) fullest = std::max(fullest, x.seconds + y.seconds);
          }
        }
        if (fullest == 0) continue;
        ASSERT_LT(found, pairs.size());
        const ContendingPair& pair = pairs[found++];
        EXPECT_EQ(std::pair(pair.a, pair.b), std::pair(Job(a), Job(b))) << "sorted, each once";
        EXPECT_EQ(pair.a_seconds + pair.b_seconds, fullest);
      }
    }
    EXPECT_EQ(found, pairs.size());
  }
}

TEST(ContendingPairs, JobsWithoutLoadsContendWithNobody) {
  EXPECT_THAT(ContendingPairs(0, Loads{}), IsEmpty());
  EXPECT_THAT(ContendingPairs(2, Loads{{}, {{0, 1}}, {{1, 1}}}), IsEmpty());
}

TEST(Components, ArePiecesOfTheRelationOrderedByTheirLowestJob) {
  EXPECT_THAT(Components(0, {}), IsEmpty());
  Random random(2);
  for (int round = 0; round < 50; ++round) {
    const auto pairs = ContendingPairs(9, RandomLoads(9, 9, random));
    std::set<std::pair<std::size_t, std::size_t>> related;
    for (const ContendingPair& pair : pairs) {
      related.insert({pair.a.index(), pair.b.index()});
      related.insert({pair.b.index(), pair.a.index()});
    }
    EXPECT_EQ(Components(9, pairs), ComponentsOf(9, [&](std::size_t a, std::size_t b) {
                return related.count({a, b}) != 0;
              }));
  }
}

TEST(PossibleComponents, JobsAreTogetherWhereAnyOfTheirCandidatesMeet) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Problem problem = testing::RandomProblem(
        {.jobs = 8, .links = 30, .flows = 2, .candidates = 2, .storage = true}, seed);
    std::vector<std::set<std::int32_t>> links(problem.jobs.size());
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      for (const Flow& flow : problem.jobs[j].flows) {
        for (std::int32_t p = 0; p < flow.paths.size(); ++p) {
          links[j].insert(flow.paths[p].begin(), flow.paths[p].end());
        }
      }
    }
    EXPECT_EQ(PossibleComponents(problem), ComponentsOf(links.size(), [&](auto a, auto b) {
                return std::any_of(links[a].begin(), links[a].end(),
                                   [&](std::int32_t link) { return links[b].count(link) != 0; });
              }));
  }
}

TEST(ContentionDag, LeadsFromTheEarlierOfEachPairWithItsIntensity) {
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    const auto pairs = ContendingPairs(5, RandomLoads(8, 5, random));
    std::vector<ContendingJobId> order = AllJobs(8);
    random.Shuffle(order);
    std::vector<double> intensities;
    for (int j = 0; j < 8; ++j) intensities.push_back(random.Unit());
    std::vector<std::tuple<ContendingJobId, ContendingJobId, double>> expected;
    for (const ContendingPair& pair : pairs) {
      const bool forwards = std::find(order.begin(), order.end(), pair.a) <
                            std::find(order.begin(), order.end(), pair.b);
      const ContendingJobId from = forwards ? pair.a : pair.b;
      expected.emplace_back(from, forwards ? pair.b : pair.a, intensities[from.index()]);
    }
    std::sort(expected.begin(), expected.end());
    std::vector<std::tuple<ContendingJobId, ContendingJobId, double>> found;
    for (const ContentionEdge& edge : ContentionDag(pairs, order, intensities)) {
      found.emplace_back(edge.from, edge.to, edge.weight);
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(Loss, CountsTheEdgesInsideALevel) {
  const std::vector<ContentionEdge> edges{testing::Edge(0, 1, 4), testing::Edge(1, 2, 2)};
  const auto loss = [&](const std::vector<std::int32_t>& levels) { return Loss(edges, levels); };
  EXPECT_EQ(loss({2, 1, 0}), 0);
  EXPECT_EQ(loss({1, 1, 0}), 4);
  EXPECT_EQ(loss({1, 0, 0}), 2);
  EXPECT_EQ(loss({1, 1, 1}), 6);
}

TEST(IsValidCompression, RefusesAnEdgeToAHigherLevel) {
  const std::vector<ContentionEdge> edges{testing::Edge(0, 1, 4)};
  const auto valid = [&](const std::vector<std::int32_t>& levels) {
    return IsValidCompression(edges, levels);
  };
  EXPECT_TRUE(valid({1, 0}));
  EXPECT_TRUE(valid({1, 1}));
  EXPECT_FALSE(valid({0, 1}));
  EXPECT_TRUE(IsValidCompression({}, {}));
}

}  // namespace
}  // namespace yardmaster::crux
