#include "pkg/fabric/walk.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::fabric {
namespace {

class WalkTest : public testing::Test {
 protected:
  static Network Built(const FabricSpec& spec) {
    auto network = Network::Build(spec, std::make_shared<const Places>(PlacesOf(spec)));
    EXPECT_TRUE(network.ok()) << network.status();
    return *std::move(network);
  }

  const Network network_ = Built(SmallHpn(2, 2, 2));
  const NicPort from_{HostId(0), 3, 1};
  const NicPort to_{HostId(network_.places().num_hosts() - 1), 3, 1};
  const LinkId first_ = Network::up(network_.host_cable(from_));
};

TEST_F(WalkTest, GoesFromSwitchToSwitchUntilItReachesAHost) {
  std::vector<LinkId> links{first_};
  EXPECT_TRUE(Walk(network_, first_, [&](SwitchId at, LinkId came_by) {
    EXPECT_EQ(came_by, links.back());
    EXPECT_EQ(at, network_.far_end(came_by));
    links.push_back(network_.next_hops(at, to_).back());
    return links.back();
  }));
  // Another fabric pod: ToR, Agg, core, Agg, ToR, and the links before and behind them.
  EXPECT_EQ(links.size(), 6u);
  EXPECT_EQ(network_.nic_port_of(Network::cable_of(links.back())), to_);
}

TEST_F(WalkTest, EndsWhereNothingIsChosen) {
  int asked = 0;
  EXPECT_FALSE(Walk(network_, first_, [&](SwitchId at, LinkId) {
    return ++asked == 3 ? LinkId() : network_.next_hops(at, to_).front();
  }));
  EXPECT_EQ(asked, 3);
}

TEST_F(WalkTest, EndsAlthoughTheChoicesGoRoundInACircle) {
  int asked = 0;
  EXPECT_FALSE(Walk(network_, first_, [&](SwitchId at, LinkId came_by) {
    ++asked;
    // Up and down again between the ToR and one of its Aggs.
    return Network::is_down(came_by) || asked == 1 ? Network::up(network_.up_cable(at, 0))
                                                   : Network::down(Network::cable_of(came_by));
  }));
  EXPECT_EQ(asked, 2 * network_.num_tiers() + 2);
}

}  // namespace
}  // namespace yardmaster::fabric
