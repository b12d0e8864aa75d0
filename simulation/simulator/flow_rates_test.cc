#include "simulation/simulator/flow_rates.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

MovingFlow Over(std::vector<std::int32_t> links, std::int32_t level = 0) {
  MovingFlow flow;
  flow.links = std::move(links);
  flow.level = level;
  return flow;
}

TEST(FlowRates, FlowsOfOneLevelGetOneRateAndALinkCarriesItsPartOfEach) {
  FlowRates rates({8});  // 1e9 bytes per second
  MovingFlow parts = Over({0});
  parts.uses = {3};
  const FlowId one = rates.Add(Over({0}));
  const FlowId three = rates.Add(parts);
  rates.Start(one, 1e9, 0);
  rates.Start(three, 1e9, 0);
  EXPECT_THAT(rates.Divide(0), UnorderedElementsAre(one, three));
  EXPECT_DOUBLE_EQ(rates.flow(one).rate, 0.25e9);
  EXPECT_DOUBLE_EQ(rates.flow(three).rate, 0.25e9);
  EXPECT_TRUE(rates.CheckRates().ok());
}

TEST(FlowRates, OnlyWhatAChangeReachesIsDividedAgain) {
  FlowRates rates({8, 8});
  const FlowId here = rates.Add(Over({0}));
  const FlowId apart = rates.Add(Over({1}));
  const FlowId late = rates.Add(Over({0}));
  rates.Start(here, 1e9, 0);
  rates.Start(apart, 1e9, 0);
  rates.Divide(0);
  const std::uint32_t before = rates.flow(apart).version;
  EXPECT_THAT(rates.Divide(0), IsEmpty());
  rates.Start(late, 1e9, 0.5);
  EXPECT_TRUE(rates.changed());
  EXPECT_THAT(rates.Divide(0.5), UnorderedElementsAre(here, late));
  EXPECT_EQ(rates.flow(apart).version, before);
}

TEST(FlowRates, AHigherLevelTakesTheLinkAndGivesItBack) {
  FlowRates rates({8});
  const FlowId low = rates.Add(Over({0}, 1));
  const FlowId high = rates.Add(Over({0}, 2));
  rates.Start(low, 4e9, 0);
  rates.Divide(0);
  rates.Start(high, 1e9, 1);
  EXPECT_THAT(rates.Divide(1), ElementsAre(high)) << "the other stands still";
  EXPECT_EQ(rates.flow(low).rate, 0);
  rates.Finish(high, 2);
  EXPECT_THAT(rates.Divide(2), ElementsAre(low));
  EXPECT_DOUBLE_EQ(rates.Delivered(low, 3), 2e9) << "not in the second that the other had";
  EXPECT_DOUBLE_EQ(rates.Delivered(high, 3), 1e9);
}

}  // namespace
}  // namespace yardmaster::sim
