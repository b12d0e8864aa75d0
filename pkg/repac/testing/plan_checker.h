// Checks path plans independently of the planner: it routes by its own reading of the wiring and
// hashes by the reference definition. For tests only.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/repac/path_planner.h"
#include "pkg/repac/reference_hash.h"
#include "pkg/repac/testing/networks.h"

namespace yardmaster::repac {

using fabric::HostId;
using fabric::Network;

using Down = std::set<CableId>;

// Whether a packet for dst on `link` can still arrive without going up after down.
inline bool Arrives(const Network& network, LinkId link, const NicPort& dst, const Down& down) {
  if (down.count(Network::cable_of(link)) != 0) return false;
  const SwitchId at = network.far_end(link);
  if (!at.valid()) {
    const NicPort end = network.nic_port_of(Network::cable_of(link));
    return end.host == dst.host && end.rail == dst.rail;
  }
  if (Network::is_down(link) && !network.reaches_down(at, dst)) return false;
  for (LinkId next : network.next_hops(at, dst)) {
    if (Arrives(network, next, dst, down)) return true;
  }
  return false;
}

// Returns the links of a packet by the definition of the hash; empty: the packet is lost.
inline LinkPath Route(const Network& network, const NicPort& src, const NicPort& dst,
                      std::uint16_t port, const Down& down) {
  LinkPath links = {Network::up(network.host_cable(src))};
  Packet packet;
  packet.sip = network.nic_address(src.host, src.rail);
  packet.dip = network.nic_address(dst.host, dst.rail);
  packet.sport = port;
  const NicPort twin{dst.host, dst.rail, network.plane_of(src)};
  while (network.far_end(links.back()).valid()) {
    if (links.size() > 12 || down.count(Network::cable_of(links.back())) != 0) return {};
    const SwitchId at = network.far_end(links.back());
    std::vector<LinkId> group;
    for (LinkId next : network.next_hops(at, twin)) {
      if (Arrives(network, next, twin, down)) group.push_back(next);
    }
    if (group.empty()) return {};
    const fabric::Tier& tier = network.spec().tiers[static_cast<std::size_t>(network.tier_of(at))];
    const fabric::HashSpec& spec = network.spec().ecmp_hash.at(tier.role);
    const std::uint64_t hash = group.size() == 1 ? 0 : ReferenceHash(SpecFor(spec, packet), packet);
    links.push_back(group[hash % group.size()]);
  }
  return links;
}

// Checks that ports are valid and unique between two addresses, that paths are as routed here, that
// the paths of a connection are disjoint, that alternates avoid the main path, and that loads and
// bounds are right.
inline void Check(const Network& network, const std::vector<NicConnection>& connections,
                  const PathPlan& plan, const Down& down) {
  std::map<std::pair<Nic, Nic>, std::set<std::uint16_t>> ports;
  std::map<std::tuple<int, bool>, std::set<LinkId>> taken;
  std::map<LinkId, std::pair<int, double>> loads;
  std::set<std::tuple<int, bool, int>> flows;
  for (const PlannedFlow& flow : plan.flows) {
    EXPECT_TRUE(flows.insert({flow.connection, flow.back, flow.path}).second);
    const NicConnection& c = connections[static_cast<std::size_t>(flow.connection)];
    EXPECT_EQ((Nic{flow.src.host, flow.src.rail}), flow.back ? c.to : c.from);
    EXPECT_EQ((Nic{flow.dst.host, flow.dst.rail}), flow.back ? c.from : c.to);
    if (!flow.planned()) {
      EXPECT_FALSE(flow.reason.empty());
      continue;
    }
    std::pair<Nic, Nic> pair = {{flow.src.host, flow.src.rail}, {flow.dst.host, flow.dst.rail}};
    if (pair.second < pair.first) std::swap(pair.first, pair.second);
    for (std::uint16_t port : {flow.source_port, flow.alternate_port}) {
      if (port == 0) continue;
      EXPECT_GE(port, 0xC001);
      EXPECT_TRUE((ports[pair].insert(port).second)) << "twice: " << port;
    }
    EXPECT_EQ(Route(network, flow.src, flow.dst, flow.source_port, down), flow.links);
    for (LinkId link : flow.links) {
      EXPECT_EQ(down.count(Network::cable_of(link)), 0u);
      if (network.is_host_cable(Network::cable_of(link))) continue;
      EXPECT_TRUE((taken[{flow.connection, flow.back}].insert(link).second)) << "shared link";
      ++loads[link].first;
      loads[link].second += flow.bytes;
    }
    if (flow.alternate_port == 0) continue;
    for (LinkId link : Route(network, flow.src, flow.dst, flow.alternate_port, down)) {
      if (network.is_host_cable(Network::cable_of(link))) continue;
      EXPECT_EQ(std::count(flow.links.begin(), flow.links.end(), link), 0);
    }
  }
  ASSERT_EQ(plan.loads.size(), loads.size());
  for (const LinkLoad& load : plan.loads) {
    EXPECT_EQ(load.flows, loads.at(load.link).first);
    EXPECT_NEAR(load.bytes, loads.at(load.link).second, 1e-6);
  }
  for (const Balance& balance : plan.balances) {
    int count = 0;
    int fullest = 0;
    double bytes = 0;
    for (const auto& [link, load] : loads) {
      if (network.switch_port_of(Network::cable_of(link)).id != balance.tor ||
          Network::is_down(link) != balance.inbound) {
        continue;
      }
      count += load.first;
      fullest = std::max(fullest, load.first);
      bytes += load.second;
    }
    EXPECT_EQ(balance.flows, count);
    EXPECT_EQ(balance.max_flows, fullest);
    EXPECT_GE(balance.max_flows, balance.bound_flows);
    EXPECT_GE(balance.bound_bytes, bytes / balance.links - 1e-6);
  }
}

inline std::vector<fabric::FabricSpec> Fabrics() {
  std::vector<fabric::FabricSpec> out = {HpnPod(3, 5),
                                         fabric::SmallHpn(1, 3, 6),
                                         fabric::SmallHpn(2, 2, 3),
                                         fabric::SinglePlaneHpn(1, 3, 3),
                                         fabric::StripedCore(2, 2, 2),
                                         fabric::FatTree(4),
                                         fabric::FatTree(8)};
  for (std::size_t i = 1; i < out.size(); ++i) SetHashes(out[i]);
  // Other families of hashes, too, and an IPv6 underlay.
  out.push_back(out[1]);
  out.back().name = "other-hashes";
  fabric::HashSpec toeplitz;
  toeplitz.kind = fabric::HashKind::kToeplitz;
  out.back().ecmp_hash["tor"] = toeplitz;
  out.push_back(out[5]);
  out.back().name = "ipv6";
  out.back().addressing.base = "fd00:1::ffff:fff0";
  return out;
}

inline std::vector<NicConnection> RandomConnections(const Network& network, int count,
                                                    Random& random) {
  std::vector<NicConnection> out;
  const auto below = [&random](int n) {
    return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
  };
  while (static_cast<int>(out.size()) < count) {
    NicConnection c;
    c.from = {fabric::HostId(below(network.places().num_hosts())), below(network.spec().rails)};
    c.to = {fabric::HostId(below(network.places().num_hosts())), c.from.rail};
    if (c.from == c.to) continue;
    c.paths = 1 + below(2);
    c.both_directions = below(3) != 0;
    c.bytes = 1 + below(5);
    out.push_back(c);
  }
  return out;
}

}  // namespace yardmaster::repac
