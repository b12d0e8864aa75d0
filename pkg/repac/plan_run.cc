#include "pkg/repac/plan_run.h"

#include <algorithm>
#include <utility>

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

void PlanRun::FillAlternates(const std::vector<int>& order, std::vector<PlannedFlow>& flows) {
  for (int i : order) {
    PlannedFlow& flow = flows[static_cast<std::size_t>(i)];
    if (!flow.planned() || planner.AlternateWorks(flow)) continue;
    planner.FindAlternate(flow);
    ledger.Reserve(flow, flow.alternate_port);
  }
}

std::vector<int> PlanningOrder(const std::vector<NicConnection>& connections,
                               const std::vector<PlannedFlow>& flows) {
  struct Entry {
    double bytes = 0;
    int position = 0;
  };
  std::vector<Entry> given;
  std::vector<Entry> free;
  given.reserve(flows.size());
  free.reserve(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const NicConnection& connection = connections[static_cast<std::size_t>(flows[i].connection)];
    const bool has_path = !(flows[i].back ? connection.via_back : connection.via).empty();
    (has_path ? given : free).push_back({flows[i].bytes, static_cast<int>(i)});
  }
  std::vector<int> order;
  order.reserve(flows.size());
  const auto larger = [](const Entry& a, const Entry& b) { return a.bytes > b.bytes; };
  for (std::vector<Entry>* entries : {&given, &free}) {
    // Mostly all flows have the same bytes.
    if (!std::is_sorted(entries->begin(), entries->end(), larger)) {
      std::stable_sort(entries->begin(), entries->end(), larger);
    }
    for (const Entry& entry : *entries) order.push_back(entry.position);
  }
  return order;
}

void SetHome(PlannedFlow& flow) {
  flow.home_port = flow.source_port;
  flow.home_src = flow.src;
  flow.home_links = flow.links;
}

PathPlan Finish(std::vector<PlannedFlow> flows, const ForwardingModel& forwarding,
                const PathOptions& options) {
  PathPlan plan;
  plan.flows = std::move(flows);
  if (options.account) Account(forwarding, plan);
  return plan;
}

}  // namespace yardmaster::repac
