#include "pkg/state/place_contradictions.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::state {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

fabric::Network Built(const fabric::FabricSpec& spec, const fabric::Places& places) {
  return fabric::Network::Build(spec, std::make_shared<const fabric::Places>(places)).value();
}

TEST(UnknownSwitchesTest, NamesOfSwitchesThatAreNotThereAreSaid) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 2);
  spec.switch_names = {{"p0/agg-p0-3", "spine"}, {"p9/agg-p0-3", "other"}};
  spec.absent_switches = {"p0/agg-p0-3", "p0/agg-p0-2", "p0/agg-p7-2"};
  EXPECT_THAT(UnknownSwitches(Built(spec, fabric::PlacesOf(spec))),
              ElementsAre(HasSubstr("spec.absentSwitches[2]: there is no switch p0/agg-p7-2; "
                                    "did you mean p0/agg-p0-2?"),
                          HasSubstr("spec.switchNames[\"p9/agg-p0-3\"]: there is no switch "
                                    "p9/agg-p0-3; use an id, for example p0/p0s0/tor-r0-p0")));
}

TEST(UnknownSwitchesTest, ManyAreCountedAndNoneAreSaidBeforeAHostHasAPlace) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 2);
  for (int i = 0; i < 20; ++i) spec.absent_switches.push_back(StrCat("p9/agg-p0-", i));
  const std::vector<std::string> said = UnknownSwitches(Built(spec, fabric::PlacesOf(spec)));
  ASSERT_EQ(said.size(), 9U);
  EXPECT_THAT(said.back(), HasSubstr("12 more entries of spec.switchNames and"));
  EXPECT_THAT(UnknownSwitches(Built(spec, fabric::Places::Build({}).value())), IsEmpty());
}

}  // namespace
}  // namespace yardmaster::state
