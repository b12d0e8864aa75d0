#include "pkg/repac/plan_ledger.h"

#include <algorithm>

namespace yardmaster::repac {

namespace {

using fabric::Network;

std::int64_t SiblingKey(const PlannedFlow& flow) {
  return 2 * std::int64_t{flow.connection} + (flow.back ? 1 : 0);
}

}  // namespace

PlanLedger::PlanLedger(const std::vector<NicConnection>& connections,
                       const ForwardingModel& forwarding, const std::vector<CableId>& avoid)
    : connections_(connections),
      forwarding_(forwarding),
      avoid_(static_cast<std::size_t>(forwarding.network().num_cables())),
      bytes_(static_cast<std::size_t>(forwarding.network().num_links())) {
  for (CableId cable : avoid) avoid_[cable.index()] = 1;
  used_.reserve(connections.size());
  std::size_t split = 0;
  for (const NicConnection& connection : connections) split += connection.paths > 1 ? 2 : 0;
  other_paths_.reserve(split);
}

bool PlanLedger::IsWhole(std::span<const LinkId> links) const {
  return !links.empty() && std::all_of(links.begin(), links.end(), [this](LinkId link) {
    return usable(Network::cable_of(link));
  });
}

std::uint64_t PlanLedger::PairKey(const PlannedFlow& flow) const {
  const auto nic = [this](const NicPort& p) {
    return static_cast<std::uint64_t>(p.host.value * forwarding_.network().spec().rails + p.rail);
  };
  const std::uint64_t x = nic(flow.src);
  const std::uint64_t y = nic(flow.dst);
  return std::min(x, y) << 32 | std::max(x, y);
}

const UsedPorts& PlanLedger::PortsBetween(const PlannedFlow& flow) const {
  const auto found = used_.find(PairKey(flow));
  return found == used_.end() ? no_ports_ : found->second;
}

bool PlanLedger::Taken(const PlannedFlow& flow, std::uint16_t port) const {
  const UsedPorts& ports = PortsBetween(flow);
  return std::binary_search(ports.begin(), ports.end(), port);
}

void PlanLedger::Reserve(const PlannedFlow& flow, std::uint16_t port) {
  if (port == 0) return;
  UsedPorts& ports = used_[PairKey(flow)];
  const auto at = std::lower_bound(ports.begin(), ports.end(), port);
  if (at == ports.end() || *at != port) ports.insert(at, port);
}

void PlanLedger::Add(const PlannedFlow& flow) {
  for (LinkId link : flow.links) bytes_[link.index()] += flow.bytes;
  if (!flow.planned()) return;
  Reserve(flow, flow.source_port);
  Reserve(flow, flow.alternate_port);
  if (connection_of(flow).paths == 1) return;
  std::vector<LinkId>& forbidden = other_paths_[SiblingKey(flow)];
  for (LinkId link : flow.links) {
    if (!forwarding_.network().is_host_cable(Network::cable_of(link))) forbidden.push_back(link);
  }
}

const std::vector<LinkId>& PlanLedger::LinksOfOtherPaths(const PlannedFlow& flow) const {
  if (other_paths_.empty()) return no_links_;
  const auto found = other_paths_.find(SiblingKey(flow));
  return found == other_paths_.end() ? no_links_ : found->second;
}

}  // namespace yardmaster::repac
