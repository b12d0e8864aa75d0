#include "pkg/fabric/traffic_class.h"

#include <string>

#include "gtest/gtest.h"

#include "pkg/base/status.h"

namespace yardmaster::fabric {
namespace {

TEST(TrafficClassOf, TheFabricsTableRules) {
  NetworkLevels levels;
  EXPECT_EQ(*TrafficClassOf(levels, 0), 0);
  EXPECT_EQ(*TrafficClassOf(levels, 7), 224);
  EXPECT_FALSE(TrafficClassOf(levels, 8).ok());
  EXPECT_FALSE(TrafficClassOf(levels, -1).ok());

  levels.count = 12;  // level 8 would be class 256
  EXPECT_FALSE(TrafficClassOf(levels, 8).ok());

  levels.traffic_class_of_level = {{0, 0}, {1, 104}};
  EXPECT_EQ(*TrafficClassOf(levels, 1), 104);
  EXPECT_EQ(*TrafficClassOf(levels, 2), 64) << "a level that the table leaves out has the default";
  EXPECT_NE(MessageOf(TrafficClassOf(levels, 9).status()).find("level 9"), std::string::npos);
}

}  // namespace
}  // namespace yardmaster::fabric
