#include "pkg/crux/compression.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/crux/contention.h"
#include "pkg/crux/order_cut.h"
#include "pkg/crux/testing/problems.h"
#include "pkg/crux/testing/valid_compression.h"

namespace yardmaster::crux {
namespace {

using Edges = std::vector<ContentionEdge>;

// Edges from lower to higher index, weight falling with the tail.
Edges RandomDag(std::int32_t jobs, double density, Random& random) {
  Edges edges;
  for (std::int32_t a = 0; a < jobs; ++a) {
    const double weight = 1 + random.Unit() * (jobs - a);
    for (std::int32_t b = a + 1; b < jobs; ++b) {
      if (random.Unit() < density) edges.push_back(testing::Edge(a, b, weight));
    }
  }
  return edges;
}

double BruteForce(std::int32_t jobs, const Edges& edges, std::int32_t levels) {
  std::vector<std::int32_t> assignment(jobs, 0);
  double best = 1e300;
  while (true) {
    if (IsValidCompression(edges, assignment)) best = std::min(best, Loss(edges, assignment));
    std::int32_t i = 0;
    while (i < jobs && ++assignment[i] == levels) assignment[i++] = 0;
    if (i == jobs) return best;
  }
}

CompressionOptions Published(int orders) {
  CompressionOptions options;
  options.random_orders = orders;
  options.improvements = 0;
  options.exact_when_small = false;
  return options;
}

TEST(Compression, FigureThirteenIsSplitWithoutLoss) {
  const Edges edges{testing::Edge(0, 1, 4), testing::Edge(2, 3, 2)};
  const Compression result = Compress(4, edges, 2);
  EXPECT_EQ(result.levels, (std::vector<std::int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(result.loss, 0);
  EXPECT_EQ(result.optimal_loss, 0);
}

TEST(Compression, TheExactSolverAgreesWithBruteForce) {
  Random random(3);
  for (int i = 0; i < 60; ++i) {
    const auto jobs = static_cast<std::int32_t>(2 + random.Below(5));
    const auto levels = static_cast<std::int32_t>(1 + random.Below(3));
    const Edges edges = RandomDag(jobs, 0.7, random);
    const Compression result = Compress(jobs, edges, levels);
    ASSERT_TRUE(result.optimal_loss.has_value());
    EXPECT_NEAR(*result.optimal_loss, BruteForce(jobs, edges, levels), 1e-9);
  }
}

TEST(Compression, AnOrderIsCutAsWellAsAnyCutOfIt) {
  Random random(5);
  for (int i = 0; i < 40; ++i) {
    const std::int32_t jobs = 7;
    const Edges edges = RandomDag(jobs, 0.6, random);
    Dag dag(jobs);
    for (const ContentionEdge& e : edges) dag.Add(e.from.value, e.to.value, e.weight);
    const std::vector<std::int32_t> order = RandomOrder(dag, {}, random);
    const double cut = BlockLoss(dag, OrderCutter(dag, 3).Cut(order));
    double best = 1e300;
    for (std::int32_t x = 0; x <= jobs; ++x) {
      for (std::int32_t y = x; y <= jobs; ++y) {
        std::vector<std::int32_t> blocks(jobs);
        for (std::int32_t p = 0; p < jobs; ++p) blocks[order[p]] = p < x ? 0 : p < y ? 1 : 2;
        best = std::min(best, BlockLoss(dag, blocks));
      }
    }
    EXPECT_NEAR(cut, best, 1e-9);
  }
}

TEST(Compression, EveryResultIsValid) {
  Random random(11);
  for (int i = 0; i < 30; ++i) {
    const auto jobs = static_cast<std::int32_t>(1 + random.Below(40));
    const auto levels = static_cast<std::int32_t>(1 + random.Below(8));
    const Edges edges = RandomDag(jobs, 0.3, random);
    for (const CompressionOptions& options : {CompressionOptions{}, Published(10)}) {
      const Compression result = Compress(jobs, edges, levels, options);
      EXPECT_TRUE(IsValidCompression(edges, result.levels));
      for (const std::int32_t level : result.levels) {
        EXPECT_GE(level, 0);
        EXPECT_LT(level, levels);
      }
    }
  }
}

TEST(Compression, ReCuttingNeverLosesMoreThanTheTenOrdersItStartsFrom) {
  Random random(13);
  double published = 0;
  double improved = 0;
  for (int i = 0; i < 20; ++i) {
    const Edges edges = RandomDag(40, 0.3, random);
    CompressionOptions options = Published(10);
    const double before = Compress(40, edges, 4, options).loss;
    options.improvements = 30;
    const double after = Compress(40, edges, 4, options).loss;
    EXPECT_LE(after, before + 1e-9);
    published += before;
    improved += after;
  }
  EXPECT_LT(improved, 0.95 * published);
}

TEST(Compression, LevelsThatAreNotNeededStayEmpty) {
  const Compression result = Compress(2, Edges{testing::Edge(0, 1, 1)}, 8);
  EXPECT_EQ(result.levels, (std::vector<std::int32_t>{7, 6}));
}

TEST(Compression, OneLevelLosesEverything) {
  const Edges edges{testing::Edge(0, 1, 4), testing::Edge(0, 2, 4), testing::Edge(1, 2, 3)};
  EXPECT_EQ(Compress(3, edges, 1).loss, 11);
}

}  // namespace
}  // namespace yardmaster::crux
