// Finds the ways between two NIC ports of one plane: one per usable uplink of the source's ToR.
//
// All hosts behind the same two ToRs share their ways, so these are found once per pair of ToRs.
// Links to and from the hosts are not part of a route. If a switch above the ToR has a choice, the
// route takes the member with the number of its uplink (modulo the members that are up), or else
// the first one after it from which a way leads on.
//
// Complexity: a walk per uplink; if cables are down, also the links of switches that lead nowhere,
// once each. Determinism: complete. Thread safety: one thread; Between() fills a cache. Lifetimes:
// the network and `cable_down` outlive the object.
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
  // Sets `port` to the port at which packets for `wanted` arrive: itself or, if its cable is down,
  // another of its NIC in the same plane. False if there is none.
  bool Arrival(const fabric::NicPort& wanted, fabric::NicPort& port) const;
  // Returns the routes in the order of the ToR's uplinks: one empty route if both ports are behind
  // one ToR, none if every way is down. The reference is valid as long as this object. REQUIRES:
  // ports of one plane.
  const std::vector<Route>& Between(const fabric::NicPort& from, const fabric::NicPort& to);

 private:
  bool Down(fabric::CableId cable) const {
    return !cable_down_.empty() && cable_down_[cable.index()] != 0;
  }
  // Extends the route to the ToR of `to`. False, with the route unchanged, if no way leads there.
  // `closed`: switches known to have none.
  bool Extend(int uplink, const fabric::NicPort& to, Route& route,
              std::set<fabric::SwitchId>& closed) const;

  const fabric::Network& network_;
  const std::vector<std::uint8_t>& cable_down_;
  using ToRs = std::pair<fabric::SwitchId, fabric::SwitchId>;
  absl::flat_hash_map<ToRs, std::unique_ptr<std::vector<Route>>> cache_;
};

}  // namespace yardmaster::netplan
