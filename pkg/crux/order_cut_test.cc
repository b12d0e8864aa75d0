#include "pkg/crux/order_cut.h"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

namespace yardmaster::crux {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Nodes = std::vector<std::int32_t>;

constexpr double kRounding = 1e-9;

// The arcs agree with a random order of the nodes.
Dag RandomDag(std::int32_t nodes, double density, Random& random) {
  Nodes order(static_cast<std::size_t>(nodes));
  std::iota(order.begin(), order.end(), 0);
  random.Shuffle(order);
  Dag dag(order.size());
  for (std::int32_t a = 0; a < nodes; ++a) {
    for (std::int32_t b = a + 1; b < nodes; ++b) {
      if (random.Unit() < density) dag.Add(order[a], order[b], 0.1 + random.Unit());
    }
  }
  return dag;
}

// Whether each node stands behind all that lead to it.
bool IsTopological(const Dag& dag, const Nodes& order) {
  std::vector<std::size_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (std::int32_t v = 0; v < dag.size(); ++v) {
    for (const Dag::Arc& arc : dag.out[v]) {
      if (position[arc.to] < position[v]) return false;
    }
  }
  return true;
}

// Whether the blocks are among the first `levels` and no arc leads to a lower one.
bool IsValid(const Dag& dag, const Nodes& blocks, std::int32_t levels) {
  for (std::int32_t v = 0; v < dag.size(); ++v) {
    if (blocks[v] < 0 || blocks[v] >= levels) return false;
    for (const Dag::Arc& arc : dag.out[v]) {
      if (blocks[arc.to] < blocks[v]) return false;
    }
  }
  return true;
}

// The least loss of `order` in at most `levels` blocks, by trying every place of every cut.
double BestCut(const Dag& dag, const Nodes& order, std::int32_t levels) {
  Nodes blocks(order.size(), 0);
  std::function<double(std::size_t, std::int32_t)> least = [&](std::size_t at, std::int32_t block) {
    if (at == order.size()) return BlockLoss(dag, blocks);
    double best = 1e300;
    for (std::int32_t b = block; b < std::min(block + 2, levels); ++b) {
      blocks[order[at]] = b;
      best = std::min(best, least(at + 1, b));
    }
    return best;
  };
  return least(0, 0);
}

TEST(OrderCut, NothingIsCutIntoNothing) {
  const Dag none(0);
  Random random(1);
  EXPECT_EQ(BlockLoss(none, {}), 0);
  EXPECT_THAT(ChainDepth(none), IsEmpty());
  EXPECT_THAT(RandomOrder(none, {}, random), IsEmpty());
  EXPECT_THAT(OrderCutter(none, 3).Cut({}), IsEmpty());
  EXPECT_THAT(ExactBlocks(none, 3), IsEmpty());
}

TEST(OrderCut, OneNodeIsOneBlock) {
  const Dag one(1);
  EXPECT_THAT(OrderCutter(one, 1).Cut(Nodes{0}), ElementsAre(0));
  EXPECT_THAT(ExactBlocks(one, 8), ElementsAre(0));
}

TEST(ChainDepth, IsTheLengthOfTheLongestChainThatEndsInANode) {
  Random random(2);
  for (int round = 0; round < 50; ++round) {
    const Dag dag = RandomDag(8, 0.3, random);
    std::function<std::int32_t(std::int32_t)> longest = [&](std::int32_t v) {
      std::int32_t most = 0;
      for (const Dag::Arc& arc : dag.in[v]) most = std::max(most, longest(arc.to) + 1);
      return most;
    };
    const Nodes depth = ChainDepth(dag);
    for (std::int32_t v = 0; v < dag.size(); ++v) EXPECT_EQ(depth[v], longest(v));
    EXPECT_EQ(BlockLoss(dag, depth), 0);
  }
}

TEST(RandomOrder, IsATopologicalOrderThatContainsTheCutGiven) {
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    const Dag dag = RandomDag(9, 0.3, random);
    const Nodes cut = OrderCutter(dag, 3).Cut(RandomOrder(dag, {}, random));
    for (const Nodes& blocks : {Nodes{}, cut}) {
      Random one = random;
      Random other = random;
      const Nodes order = RandomOrder(dag, blocks, one);
      EXPECT_EQ(order, RandomOrder(dag, blocks, other)) << "one seed gives one order";
      Nodes sorted = order;
      std::sort(sorted.begin(), sorted.end());
      EXPECT_THAT(sorted, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
      EXPECT_TRUE(IsTopological(dag, order));
      if (blocks.empty()) continue;
      EXPECT_TRUE(std::is_sorted(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return blocks[a] < blocks[b];
      }));
      EXPECT_LE(BlockLoss(dag, OrderCutter(dag, 3).Cut(order)), BlockLoss(dag, cut) + kRounding);
    }
    random.Next();
  }
}

TEST(RandomOrder, EveryOrderOfNodesWithoutArcsCanCome) {
  const Dag dag(3);
  Random random(4);
  std::vector<Nodes> seen;
  for (int round = 0; round < 200; ++round) seen.push_back(RandomOrder(dag, {}, random));
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen.size(), 6u);
}

TEST(OrderCutter, CutsAsWellAsAnyCutOfTheOrderIntoAnyNumberOfLevels) {
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    const Dag dag = RandomDag(8, 0.5, random);
    for (std::int32_t levels = 1; levels <= 10; ++levels) {
      OrderCutter cutter(dag, levels);
      for (int again = 0; again < 2; ++again) {  // what is left of the first order must not show
        const Nodes order = RandomOrder(dag, {}, random);
        const Nodes blocks = cutter.Cut(order);
        EXPECT_TRUE(IsValid(dag, blocks, levels));
        EXPECT_NEAR(BlockLoss(dag, blocks), BestCut(dag, order, levels), kRounding);
      }
    }
  }
}

// Theorem 3 of the paper: every valid cut comes from some order.
TEST(ExactBlocks, LosesWhatTheBestCutOfAllTopologicalOrdersLoses) {
  Random random(6);
  for (int round = 0; round < 40; ++round) {
    const std::int32_t nodes = 2 + static_cast<std::int32_t>(random.Below(5));
    const Dag dag = RandomDag(nodes, 0.7, random);
    for (std::int32_t levels = 1; levels <= 4; ++levels) {
      OrderCutter cutter(dag, levels);
      Nodes order(static_cast<std::size_t>(nodes));
      std::iota(order.begin(), order.end(), 0);
      double best = 1e300;
      do {
        if (IsTopological(dag, order)) best = std::min(best, BlockLoss(dag, cutter.Cut(order)));
      } while (std::next_permutation(order.begin(), order.end()));
      const Nodes blocks = ExactBlocks(dag, levels);
      EXPECT_TRUE(IsValid(dag, blocks, levels));
      EXPECT_NEAR(BlockLoss(dag, blocks), best, kRounding);
    }
  }
}

}  // namespace
}  // namespace yardmaster::crux
