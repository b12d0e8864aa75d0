// PlanLedger records what the flows planned so far use: bytes on links, source ports between
// addresses, and the links that other paths of a connection must avoid.
//
// Invariant: a port belongs to a pair of NICs, regardless of which of them sends and of the NIC
// port, because both ports share the address. So ports are stored by unordered pair.
//
// Lifetimes: `connections` and `forwarding` outlive the ledger. Thread safety: one thread.
// Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "pkg/repac/forwarding_model.h"
#include "pkg/repac/path_plan.h"
#include "pkg/repac/port_search.h"

namespace yardmaster::repac {

class PlanLedger {
 public:
  // `avoid`: cables that no path may use although routing may.
  PlanLedger(const std::vector<NicConnection>& connections, const ForwardingModel& forwarding,
             const std::vector<CableId>& avoid);

  const NicConnection& connection_of(const PlannedFlow& flow) const {
    return connections_[static_cast<std::size_t>(flow.connection)];
  }
  double bytes(LinkId link) const { return bytes_[link.index()]; }
  bool avoided(CableId cable) const { return avoid_[cable.index()] != 0; }
  // Whether the cable is neither down nor avoided.
  bool usable(CableId cable) const { return !avoided(cable) && !forwarding_.is_down(cable); }
  // Whether all these links are usable; false if there are none.
  bool IsWhole(std::span<const LinkId> links) const;

  // Adds a flow with its final port and links.
  void Add(const PlannedFlow& flow);
  // Marks a port as used between the flow's addresses. 0 has no effect.
  void Reserve(const PlannedFlow& flow, std::uint16_t port);
  // Returns the ports used between the flow's addresses. Valid until the next Add() or Reserve().
  const UsedPorts& PortsBetween(const PlannedFlow& flow) const;
  bool Taken(const PlannedFlow& flow, std::uint16_t port) const;

  // Returns the links between switches of other paths of the flow's connection and direction. Valid
  // until the next Add().
  const std::vector<LinkId>& LinksOfOtherPaths(const PlannedFlow& flow) const;

 private:
  std::uint64_t PairKey(const PlannedFlow& flow) const;

  const std::vector<NicConnection>& connections_;
  const ForwardingModel& forwarding_;
  std::vector<char> avoid_;    // by cable
  std::vector<double> bytes_;  // by link
  absl::flat_hash_map<std::uint64_t, UsedPorts> used_;
  absl::flat_hash_map<std::int64_t, std::vector<LinkId>> other_paths_;  // (connection, direction)
  const UsedPorts no_ports_;
  const std::vector<LinkId> no_links_;
};

}  // namespace yardmaster::repac
