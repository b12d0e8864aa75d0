// What the flows planned so far have taken: bytes on links, source ports between addresses, and the
// links that paths of one connection may not share.
//
// Invariants: a port belongs to a pair of NICs whichever of them sends and whichever NIC port it
// leaves by, since both ports share the address; so ports are kept by unordered pair. Lifetimes:
// `connections` and `forwarding` must outlive the ledger. Thread safety: none. Determinism:
// complete.
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
  // `avoid`: cables that no path may use though routing may.
  PlanLedger(const std::vector<NicConnection>& connections, const ForwardingModel& forwarding,
             const std::vector<CableId>& avoid);

  const NicConnection& connection_of(const PlannedFlow& flow) const {
    return connections_[static_cast<std::size_t>(flow.connection)];
  }
  double bytes(LinkId link) const { return bytes_[link.index()]; }
  bool avoided(CableId cable) const { return avoid_[cable.index()] != 0; }
  // Neither down nor avoided.
  bool usable(CableId cable) const { return !avoided(cable) && !forwarding_.is_down(cable); }
  // Whether a path over these links works; false for none.
  bool IsWhole(std::span<const LinkId> links) const;

  // A flow whose port and links are final.
  void Add(const PlannedFlow& flow);
  // Marks one port as taken between the flow's addresses; 0: nothing.
  void Reserve(const PlannedFlow& flow, std::uint16_t port);
  // The ports taken between the flow's addresses. Valid until the next Add() or Reserve().
  const UsedPorts& PortsBetween(const PlannedFlow& flow) const;
  bool Taken(const PlannedFlow& flow, std::uint16_t port) const;

  // Links between switches that other paths of the flow's connection and direction have. Valid
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
