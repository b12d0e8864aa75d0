#include "pkg/cli/output/node_names.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::cli {
namespace {

using testing::ElementsAre;

TEST(NodeNamesTest, NamesOfHostsAreShortenedWhereTheyAreNumberedAlike) {
  EXPECT_EQ(HostNames({"a"}), "a");
  EXPECT_EQ(HostNames({"a", "b"}), "a,b");
  EXPECT_EQ(HostNames({"n1", "n2", "n10"}), "n[1-2],n10") << "of one width";
  EXPECT_EQ(HostNames({"h000", "h001", "h003", "x"}), "h[000-001,003],x");
  EXPECT_EQ(HostNames({"n12345678901", "n12345678902"}), "n12[345678901-345678902]");
}

TEST(NodeNamesTest, OneLineStandsForObjectsWithOneWarning) {
  std::vector<std::string> warnings;
  for (int i = 100; i < 321; ++i) warnings.push_back(StrCat("Node h", i, ": has no place"));
  warnings.insert(warnings.begin() + 3, "Node h7: is down");
  warnings.emplace_back("there is no Fabric: none");
  EXPECT_THAT(Grouped(warnings), ElementsAre("Nodes h[100-320]: has no place", "Node h7: is down",
                                             "there is no Fabric: none"));
  std::ostringstream err;
  PrintWarnings({"Pod a/x: y", "Pod a/z: y"}, err);
  EXPECT_EQ(err.str(), "warning: Pods a/x,a/z: y\n");
}

TEST(NodeNamesTest, NamesThatAreNotNumberedAlikeAreCounted) {
  std::vector<std::string> warnings;
  for (int i = 10; i < 30; ++i) {
    warnings.push_back(StrCat("Node ip-10-0-", i, "-7.ec2.internal: w"));
  }
  EXPECT_THAT(Grouped(warnings),
              ElementsAre("Nodes ip-10-0-10-7.ec2.internal, ip-10-0-11-7.ec2.internal, "
                          "ip-10-0-12-7.ec2.internal and 17 more: w"));
}

}  // namespace
}  // namespace yardmaster::cli
