#include "pkg/repac/plan_run.h"

#include <algorithm>
#include <cstddef>

namespace yardmaster::repac {

using fabric::Network;

PlanRun::PlanRun(const std::vector<NicConnection>& connections, const ForwardingModel& forwarding,
                 const PathOptions& options)
    : ledger(connections, forwarding, options.avoid),
      planner(forwarding, ledger, options.candidates),
      network_(forwarding.network()),
      excluded_(options.exclude) {
  std::sort(excluded_.begin(), excluded_.end());
}

bool PlanRun::Excluded(const NicConnection& connection) const {
  return std::binary_search(excluded_.begin(), excluded_.end(), connection.from) ||
         std::binary_search(excluded_.begin(), excluded_.end(), connection.to);
}

// The ports of the source NIC that the first link of a given path can follow.
absl::InlinedVector<NicPort, 4> PlanRun::PortsInto(const PlannedFlow& flow, LinkId first) const {
  absl::InlinedVector<NicPort, 4> ports;
  const CableId cable = Network::cable_of(first);
  const SwitchId tor = network_.is_host_cable(cable) ? network_.tor(network_.nic_port_of(cable))
                                                     : network_.switch_port_of(cable).id;
  for (int p = 0; p < network_.spec().nic_ports; ++p) {
    const NicPort src{flow.src.host, flow.src.rail, p};
    if (network_.tor(src) == tor) ports.push_back(src);
  }
  return ports;
}

void PlanRun::PlanOne(PlannedFlow& flow) {
  if (Excluded(connection_of(flow))) {
    flow.reason = "the NIC is kept out of path plans";
    return;
  }
  const std::span<const LinkId> via = ViaOf(flow);
  if (via.empty()) {
    planner.PlanFresh(flow);
    return;
  }
  flow.reason.clear();
  for (const NicPort& src : PortsInto(flow, via[0])) {
    if (planner.PlanAlong(flow, src, via)) return;
  }
  if (flow.reason.empty()) flow.reason = "the given path does not begin at the source's ToR";
}

void PlanRun::FillAlternates(std::span<PlannedFlow* const> order) {
  for (PlannedFlow* flow : order) {
    if (!flow->planned() || planner.AlternateWorks(*flow)) continue;
    planner.FindAlternate(*flow);
    ledger.Reserve(*flow, flow->alternate_port);
  }
}

std::vector<PlannedFlow*> PointersTo(std::vector<PlannedFlow>& flows) {
  std::vector<PlannedFlow*> pointers;
  pointers.reserve(flows.size());
  for (PlannedFlow& flow : flows) pointers.push_back(&flow);
  return pointers;
}

std::vector<PlannedFlow*> PlanningOrder(const std::vector<NicConnection>& connections,
                                        std::span<PlannedFlow* const> flows) {
  std::vector<PlannedFlow*> order;
  order.reserve(flows.size());
  const auto has_path = [&connections](const PlannedFlow& flow) {
    const NicConnection& connection = connections[static_cast<std::size_t>(flow.connection)];
    return !(flow.back ? connection.via_back : connection.via).empty();
  };
  const auto larger = [](const PlannedFlow* a, const PlannedFlow* b) {
    return a->bytes > b->bytes;
  };
  for (const bool given : {true, false}) {
    const auto begin = static_cast<std::ptrdiff_t>(order.size());
    for (PlannedFlow* flow : flows) {
      if (has_path(*flow) == given) order.push_back(flow);
    }
    // Mostly all flows have the same bytes.
    if (!std::is_sorted(order.begin() + begin, order.end(), larger)) {
      std::stable_sort(order.begin() + begin, order.end(), larger);
    }
  }
  return order;
}

void SetHome(PlannedFlow& flow) {
  flow.home_port = flow.source_port;
  flow.home_src = flow.src;
  flow.home_links = flow.links;
}

}  // namespace yardmaster::repac
