#include "pkg/config/switch_names.h"

#include <memory>

#include "gmock/gmock.h"

#include "pkg/api/fabric.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

fabric::Network Built(const fabric::FabricSpec& spec) {
  return fabric::Network::Build(spec,
                                std::make_shared<const fabric::Places>(fabric::PlacesOf(spec)))
      .value();
}

TEST(ReadSwitchNamesTest, NamesAreThoseOfAFabricOrOfTheAgentsTable) {
  const auto names = ReadSwitchNames(
      "switchNames: {p0/p0s0/tor-r0-p0: leaf-a1}\n"
      "switches:\n"
      "- {chassis: leaf-a2.example.com, name: p0/p0s0/tor-r0-p1}\n"
      "ports: [{prefix: Ethernet, first: 0, step: 4}]\n",
      "names.yaml");
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ElementsAre(Pair("p0/p0s0/tor-r0-p0", "leaf-a1"),
                                  Pair("p0/p0s0/tor-r0-p1", "leaf-a2.example.com")));
}

TEST(ReadSwitchNamesTest, WhatIsWrongIsNamedWithItsField) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "names.yaml: switchNames: is empty"},
      {"switchNames: {a: 'leaf 1'}", "switchNames.a"},
      {"switchNames: {a: 1}", "switchNames.a"},
      {"switches: [{chassis: leaf}]", "switches[0]: does not name a switch twice"},
      {"switches: [{chassis: x, name: a}, {chassis: y, name: a}]", "switches[1]: names a again"},
      {"switchNames: {a: x}\nnames: {}", "names"},
      {"[", "names.yaml"},
  };
  for (const auto& [text, message] : cases) {
    const auto names = ReadSwitchNames(text, "names.yaml");
    ASSERT_FALSE(names.ok()) << text;
    EXPECT_THAT(std::string(names.status().message()), HasSubstr(message)) << text;
  }
}

TEST(LearnSwitchNamesTest, AToRIsCalledWhatMostOfItsPortsSay) {
  const fabric::Network network = Built(fabric::SmallHpn(1, 2, 4));
  const LearnedNames learned =
      LearnSwitchNames(network, {{"p0s0h000:r0p0", "", "leaf-a1"},
                                 {"p0s0h001:r0p0", "", "leaf-a1"},
                                 {"p0s0h002:r0p0", "", "leaf-a2"},  // a misplaced plug
                                 {"p0s0h000:r0p1", "", "leaf-b1"},
                                 {"p0s0h000:r1p0", "", "leaf-b1"},  // of two ToRs
                                 {"p0s0h000:r2p0", "", "leaf-c1"},
                                 {"p0s0h001:r2p0", "", "leaf-c2"},  // as many
                                 {"p0s0h000:r3p0", "", "leaf d"},
                                 {"p0s0h000:r4p0", "p0/p0s0/tor-r4-p0:d1"},
                                 {"elsewhere:r0p0", "", "leaf-e1"}});
  EXPECT_THAT(learned.names, ElementsAre(Pair("p0/p0s0/tor-r0-p0", "leaf-a1")));
  EXPECT_EQ(learned.tors, 2 * 8 * 2);
  EXPECT_THAT(learned.problems,
              ElementsAre(HasSubstr("tor-r0-p1: leaf-b1 is also what the ports of p0/p0s0/tor-r1"),
                          HasSubstr("tor-r1-p0: leaf-b1 is also what the ports of p0/p0s0/tor-r0"),
                          HasSubstr("tor-r2-p0: its ports say different names: leaf-c1 (1), "),
                          HasSubstr("tor-r3-p0: \"leaf d\"")));
}

TEST(LearnSwitchNamesTest, NamesThatTheFabricWouldRefuseAreLeftOut) {
  fabric::FabricSpec spec = fabric::SmallHpn(2, 2, 4);
  const std::string core = "core-p0-0";  // the own name of a switch of scope Fabric
  spec.tiers.back().role = "core";
  ASSERT_EQ(spec.tiers.back().scope, fabric::Scope::kFabric);
  spec.switch_names = {{"p0/agg-p0-1", "spine-1"},       {"p0/p0s0/tor-r1-p0", "old"},
                       {"p0/p0s0/tor-r3-p0", "leaf-x"},  {"p0/p0s0/tor-r4-p0", "leaf-y"},
                       {"p1/p1s1/tor-r7-p0", "spine-2"}, {"p1/p1s1/tor-r7-p1", "leaf-z"}};
  spec.absent_switches = {"gone"};
  const LearnedNames learned =
      LearnSwitchNames(Built(spec), {{"p0s0h000:r0p0", "", core},
                                     {"p0s0h000:r1p0", "", "spine-1"},  // the Fabric's, earlier
                                     {"p0s0h000:r2p0", "", "old"},      // that r1 is called again
                                     {"p0s0h000:r3p0", "", "leaf-y"},   // exchanged
                                     {"p0s0h000:r4p0", "", "leaf-x"},
                                     {"p0s0h000:r5p0", "", "spine-2"},  // the Fabric's, later
                                     {"p0s0h000:r6p0", "", "gone"},
                                     {"p0s0h000:r7p0", "", std::string(254, 'a')},
                                     {"p0s0h000:r7p1", "", std::string(253, 'a')}});
  EXPECT_THAT(learned.names,
              ElementsAre(Pair("p0/p0s0/tor-r3-p0", "leaf-y"), Pair("p0/p0s0/tor-r4-p0", "leaf-x"),
                          Pair("p0/p0s0/tor-r7-p1", std::string(253, 'a'))));
  EXPECT_THAT(
      learned.problems,
      UnorderedElementsAre(HasSubstr("tor-r0-p0: \"core-p0-0\" may be the Fabric's own name"),
                           HasSubstr("tor-r1-p0: \"spine-1\" is also the name of p0/agg-p0-1; "),
                           HasSubstr("tor-r2-p0: \"old\" is also the name of p0/p0s0/tor-r1-p0; "),
                           HasSubstr("tor-r5-p0: \"spine-2\" is also the name of p1/p1s1/tor-r7-"),
                           HasSubstr("tor-r6-p0: spec.absentSwitches has \"gone\""),
                           HasSubstr("tor-r7-p0: aaaa")));
  spec.switch_names.insert(learned.names.begin(), learned.names.end());
  EXPECT_THAT(fabric::Problems(spec), IsEmpty());
}

TEST(LearnSwitchNamesTest, TheFabricHasAtMostSoManyNames) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 1, 2);
  for (int i = 0; i < api::kMaxSwitchNames - 1; ++i) {
    spec.switch_names[StrCat("p9/p0s0/tor-", i)] = StrCat("other-", i);
  }
  const LearnedNames learned = LearnSwitchNames(
      Built(spec), {{"p0s0h000:r0p0", "", "leaf-0"}, {"p0s0h000:r1p0", "", "leaf-1"}});
  EXPECT_THAT(learned.names, ElementsAre(Pair("p0/p0s0/tor-r0-p0", "leaf-0")));
  EXPECT_THAT(learned.problems, ElementsAre(HasSubstr("1 ToR left out: ")));
}

TEST(LearnSwitchNamesTest, RailsOfOneToRAgreeOnItsName) {
  const fabric::Network network = Built(fabric::RailGroups(1, 1, 3));
  const LearnedNames learned =
      LearnSwitchNames(network, {{"p0s0h000:r2p0", "", "leaf-2"}, {"p0s0h001:r3p0", "", "leaf-2"}});
  EXPECT_THAT(learned.names, ElementsAre(Pair("p0/p0s0/tor-r2-p0", "leaf-2")));
}

}  // namespace
}  // namespace yardmaster::config
