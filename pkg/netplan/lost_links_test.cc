// What a network plan leaves alone where links of fabrics with several ways on, or with both ports
// of a NIC in one plane, are lost.
#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <utility>
#include <vector>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/netplan/previous_network_after.h"
#include "pkg/plan/testing/snapshots.h"
#include "pkg/repac/testing/networks.h"

namespace yardmaster::netplan {
namespace {

using fabric::CableId;
using fabric::HostId;
using fabric::LinkId;
using fabric::Network;

fabric::FabricSpec Hashed(fabric::FabricSpec spec) {
  repac::SetHashes(spec);
  return spec;
}

// Plans of one ring, each made from the one before. Nothing moves for a gain.
class Ring {
 public:
  Ring(const fabric::FabricSpec& spec, const std::vector<int>& hosts)
      : snapshot_(plan::MakeSnapshot(Hashed(spec))) {
    plan::AddJob(snapshot_, "a", static_cast<int>(hosts.size()));
    std::vector<HostId> of_rank;
    for (const int host : hosts) of_rank.emplace_back(host);
    plan::Place(snapshot_, plan::JobId(0), of_rank);
    input_.policy.paths.hysteresis = 1e9;
    input_.policy.search.event_budget = 0;
  }
  const Network& network() const { return *snapshot_.network; }
  // The plan with `lost` to be avoided, and what is then remembered of it.
  std::pair<NetworkPlan, PreviousNetwork> Next(const PreviousNetwork& previous,
                                               const std::vector<CableId>& lost) const {
    NetworkInput input = input_;
    input.previous = &previous;
    input.avoid = lost;
    NetworkPlan plan = PlanNetwork(snapshot_, PlacedJobs(snapshot_), input);
    PreviousNetwork after = PreviousNetworkAfter(plan, snapshot_, previous);
    return {std::move(plan), std::move(after)};
  }

 private:
  plan::Snapshot snapshot_;
  NetworkInput input_;
};

bool Uses(const PathAssignment& path, CableId cable) {
  return std::any_of(path.links.begin(), path.links.end(),
                     [&](LinkId link) { return Network::cable_of(link) == cable; });
}

using Ports = std::map<FlowKey, std::uint16_t>;

Ports PortsOf(const std::vector<PathAssignment>& paths) {
  Ports ports;
  for (const PathAssignment& path : paths) {
    EXPECT_TRUE(ports.emplace(path.key, path.source_port).second) << "planned twice";
  }
  return ports;
}

// Two fabric pods and cores: above the uplink a flow has a choice that the plan only estimates.
TEST(LostLinksTest, ACableAboveTheUplinksMovesOnlyTheFlowsThatUseIt) {
  const fabric::FabricSpec spec = fabric::SmallHpn(2, 1, 2);
  const Ring ring(spec, {0, 2, 1, 3});
  const auto [before, previous] = ring.Next({}, {});
  ASSERT_EQ(before.report.unplanned_flows, 0);
  int used = 0;
  for (int c = 0; c < ring.network().num_cables(); ++c) {
    const CableId lost(c);
    if (ring.network().is_host_cable(lost)) continue;
    const NetworkPlan after = ring.Next(previous, {lost}).first;
    ASSERT_EQ(after.paths.size(), before.paths.size()) << "no flow is without a way";
    for (std::size_t p = 0; p < before.paths.size(); ++p) {
      EXPECT_FALSE(Uses(after.paths[p], lost));
      used += Uses(before.paths[p], lost) ? 1 : 0;
      if (Uses(before.paths[p], lost)) continue;
      EXPECT_EQ(after.paths[p].source_port, before.paths[p].source_port)
          << ring.network().name(lost);
    }
  }
  EXPECT_GT(used, 0);
}

TEST(LostLinksTest, WhereBothPortsOfANicAreInOnePlaneOneLostPortLeavesAStablePlan) {
  const Ring ring(fabric::SinglePlaneHpn(1, 2, 3), {0, 3, 4});
  const CableId lost = ring.network().host_cable({HostId(3), 2, 0});
  const auto [whole, remembered] = ring.Next({}, {});
  const auto [first, previous] = ring.Next(remembered, {lost});
  const auto [second, later] = ring.Next(previous, {lost});
  EXPECT_EQ(PortsOf(first.paths), PortsOf(second.paths));
  EXPECT_EQ(PortsOf(first.ack_paths), PortsOf(second.ack_paths));
  for (const PathAssignment& path : second.paths) EXPECT_FALSE(Uses(path, lost));
  const NetworkPlan back = ring.Next(later, {}).first;
  EXPECT_EQ(PortsOf(back.paths), PortsOf(whole.paths));
}

}  // namespace
}  // namespace yardmaster::netplan
