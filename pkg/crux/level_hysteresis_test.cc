#include "pkg/crux/level_hysteresis.h"

#include <gtest/gtest.h>

#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using Edges = std::vector<ContentionEdge>;
using Levels = std::vector<std::int32_t>;
using testing::Edge;

TEST(LevelHysteresis, EqualLevelsCostTheWeightOnceAndInvertedOnesTwice) {
  const Edges edges = {Edge(0, 1, 5)};
  EXPECT_EQ(HoldLevels(edges, 2, {{0, 0}, {1, 1}}, {1, 0}, 1.01), (Levels{0, 0}));
  EXPECT_EQ(HoldLevels(edges, 2, {{0, 0}, {1, 1}}, {1, 0}, 0.99), (Levels{1, 0}));
  EXPECT_EQ(HoldLevels(edges, 2, {{0, 1}, {1, 1}}, {1, 0}, 2.01), (Levels{0, 1}));
  EXPECT_EQ(HoldLevels(edges, 2, {{0, 1}, {1, 1}}, {1, 0}, 1.99), (Levels{1, 0}));
}

TEST(LevelHysteresis, AnInversionThatCostsMoreThanTheHysteresisIsMended) {
  const Edges edges = {Edge(0, 1, 5)};
  EXPECT_EQ(HoldLevels(edges, 2, {{0, 1}, {1, 1}}, {1, 0}, 0.05), (Levels{1, 0}));
  // Where nothing happened it stays.
  EXPECT_EQ(HoldLevels(edges, 2, {{0, 1}, {0, 0}}, {1, 0}, 0.05), (Levels{0, 1}));
}

TEST(LevelHysteresis, ASmallLossIsKept) {
  const Edges edges = {Edge(0, 1, 100), Edge(1, 2, 1)};
  EXPECT_EQ(HoldLevels(edges, 3, {{2, 1, 1}, {1, 1, 1}}, {2, 1, 0}, 0.05), (Levels{2, 1, 1}));
  EXPECT_EQ(HoldLevels(edges, 3, {{2, 1, 1}, {1, 1, 1}}, {2, 1, 0}, 0.001), (Levels{2, 1, 0}));
}

TEST(LevelHysteresis, ANewJobIsFittedInWhereItCostsLeast) {
  const Edges edges = {Edge(0, 1, 5), Edge(1, 2, 3), Edge(0, 2, 5)};
  EXPECT_EQ(HoldLevels(edges, 4, {{3, -1, 1}, {0, 1, 0}}, {3, 2, 1}, 0.05), (Levels{3, 2, 1}));
}

}  // namespace
}  // namespace yardmaster::crux
