#include "pkg/fabric/traffic_class.h"

#include <string>

#include "gtest/gtest.h"

#include "pkg/base/status.h"

namespace yardmaster::fabric {
namespace {

TEST(TrafficClassOf, TheFabricsTableRules) {
  NetworkLevels levels;
  EXPECT_FALSE(TrafficClassOf(levels, 8).ok());
  EXPECT_FALSE(TrafficClassOf(levels, -1).ok());

  levels.count = 12;
  EXPECT_NE(MessageOf(TrafficClassOf(levels, 8).status()).find("trafficClasses"),
            std::string::npos);

  levels.traffic_class_of_level = {{0, 0}, {1, 104}, {9, 300}};
  EXPECT_EQ(*TrafficClassOf(levels, 1), 104);
  EXPECT_EQ(*TrafficClassOf(levels, 2), 40) << "a level that the table leaves out has the default";
  EXPECT_NE(MessageOf(TrafficClassOf(levels, 9).status()).find("level 9"), std::string::npos);
}

TEST(TrafficClassOf, DefaultsRiseWithTheLevelAndStayBelowNetworkControl) {
  for (int count = 1; count <= 8; ++count) {
    NetworkLevels levels;
    levels.count = count;
    int before = -1;
    for (int level = 0; level < count; ++level) {
      const int now = *TrafficClassOf(levels, level);
      EXPECT_GT(now, before);
      EXPECT_EQ(now % 4, 0) << "the two bits of congestion notification are the network's";
      EXPECT_LT(now, 48 * 4) << "CS6 and CS7";
      // A switch that queues by precedence keeps the order.
      EXPECT_GE(now / 32, before < 0 ? 0 : before / 32);
      before = now;
    }
  }
}

TEST(TrafficClassOf, UpToSixLevelsHaveAPrecedenceEach) {
  for (int count = 1; count <= 6; ++count) {
    NetworkLevels levels;
    levels.count = count;
    for (int level = 0; level < count; ++level)
      EXPECT_EQ(*TrafficClassOf(levels, level), 32 * level);
  }
}

}  // namespace
}  // namespace yardmaster::fabric
