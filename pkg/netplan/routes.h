// The ways between two NIC ports of one plane, one per usable uplink of the source's ToR.
//
// All hosts behind the same two ToRs share them, so they are found once per pair of ToRs. Links to
// and from the hosts are not part of a route. Where a switch above the ToR has a choice, the route
// takes the member with the number of its uplink (modulo those that are up), or else the first
// behind it from which a way leads on. Lifetimes: the network and `cable_down` must outlive this.
// Complexity: a walk per uplink; where cables are down, besides, the links of the switches that
// lead nowhere, once each. Determinism: complete. Thread safety: none; Between() fills a cache.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "pkg/fabric/network.h"

namespace yardmaster::netplan {

using Route = std::vector<fabric::LinkId>;

class Routes {
 public:
  // `cable_down` by CableId; empty: all up.
  Routes(const fabric::Network& network, const std::vector<std::uint8_t>& cable_down)
      : network_(network), cable_down_(cable_down) {}

  bool Usable(const fabric::NicPort& port) const { return !Down(network_.host_cable(port)); }
  // The port packets for `wanted` arrive at: itself, or another of its NIC in the same plane if its
  // cable is down. False if there is none.
  bool Arrival(const fabric::NicPort& wanted, fabric::NicPort& port) const;
  // In the order of the ToR's uplinks. One empty route when both hang under one ToR; none when
  // every way is down. The reference is valid as long as this object. REQUIRES: ports of one plane.
  const std::vector<Route>& Between(const fabric::NicPort& from, const fabric::NicPort& to);

 private:
  bool Down(fabric::CableId cable) const {
    return !cable_down_.empty() && cable_down_[cable.index()] != 0;
  }
  // Takes the route on to the ToR of `to`. False, with the route as it was, if no way leads there.
  // `closed`: switches known to have none.
  bool Extend(int uplink, const fabric::NicPort& to, Route& route,
              std::set<fabric::SwitchId>& closed) const;

  const fabric::Network& network_;
  const std::vector<std::uint8_t>& cable_down_;
  using ToRs = std::pair<fabric::SwitchId, fabric::SwitchId>;
  absl::flat_hash_map<ToRs, std::unique_ptr<std::vector<Route>>> cache_;
};

}  // namespace yardmaster::netplan
