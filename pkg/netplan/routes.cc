#include "pkg/netplan/routes.h"

#include "pkg/fabric/walk.h"

namespace yardmaster::netplan {

using fabric::LinkId;
using fabric::Network;
using fabric::NicPort;
using fabric::SwitchId;

bool Routes::Arrival(const NicPort& wanted, NicPort& port) const {
  for (int i = 0; i < network_.spec().nic_ports; ++i) {
    port = wanted;
    port.port = (wanted.port + i) % network_.spec().nic_ports;
    if (network_.plane_of(port) == network_.plane_of(wanted) && Usable(port)) return true;
  }
  return false;
}

const std::vector<Route>& Routes::Between(const NicPort& from, const NicPort& to) {
  const SwitchId source = network_.tor(from);
  const SwitchId target = network_.tor(to);
  auto [at, is_new] = cache_.emplace(std::pair(source, target), std::vector<Route>());
  if (!is_new) return at->second;
  if (source == target) {
    at->second.emplace_back();
    return at->second;
  }
  for (int uplink = 0; uplink < network_.num_up_ports(source); ++uplink) {
    Route route;
    if (Follow(source, uplink, to, route)) at->second.push_back(std::move(route));
  }
  return at->second;
}

bool Routes::Follow(SwitchId tor, int uplink, const NicPort& to, Route& route) const {
  const SwitchId target = network_.tor(to);
  const fabric::CableId first = network_.up_cable(tor, uplink);
  if (Down(first)) return false;
  route.push_back(Network::up(first));
  std::vector<LinkId> ways;
  fabric::Walk(network_, route.back(), [&](SwitchId at, LinkId) {
    if (at == target) return LinkId();
    ways.clear();
    for (LinkId link : network_.next_hops(at, to)) {
      if (Down(Network::cable_of(link))) continue;
      // Into the ToRs, only the one that serves the port.
      const SwitchId next = network_.far_end(link);
      if (!next.valid() || (network_.tier_of(next) == 0 && next != target)) continue;
      ways.push_back(link);
    }
    if (ways.empty()) return LinkId();
    route.push_back(ways[static_cast<std::size_t>(uplink) % ways.size()]);
    return route.back();
  });
  return network_.far_end(route.back()) == target;
}

}  // namespace yardmaster::netplan
