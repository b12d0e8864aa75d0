#include "pkg/netplan/routes.h"

#include <cstddef>

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
  std::unique_ptr<std::vector<Route>>& known = cache_[{source, target}];
  if (known != nullptr) return *known;
  known = std::make_unique<std::vector<Route>>();
  if (source == target) {
    known->emplace_back();
    return *known;
  }
  std::set<SwitchId> closed;
  for (int uplink = 0; uplink < network_.num_up_ports(source); ++uplink) {
    const fabric::CableId first = network_.up_cable(source, uplink);
    if (Down(first)) continue;
    Route route = {Network::up(first)};
    if (Extend(uplink, to, route, closed)) known->push_back(std::move(route));
  }
  return *known;
}

bool Routes::Extend(int uplink, const NicPort& to, Route& route, std::set<SwitchId>& closed) const {
  const SwitchId target = network_.tor(to);
  const SwitchId at = network_.far_end(route.back());
  if (at == target) return true;
  if (closed.count(at) != 0) return false;
  std::vector<LinkId> ways;
  for (const LinkId link : network_.next_hops(at, to)) {
    if (Down(Network::cable_of(link))) continue;
    // Into the ToRs, only the one that serves the port.
    const SwitchId next = network_.far_end(link);
    if (next == target || network_.tier_of(next) != 0) ways.push_back(link);
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    route.push_back(ways[(static_cast<std::size_t>(uplink) + i) % ways.size()]);
    if (Extend(uplink, to, route, closed)) return true;
    route.pop_back();
  }
  closed.insert(at);
  return false;
}

}  // namespace yardmaster::netplan
