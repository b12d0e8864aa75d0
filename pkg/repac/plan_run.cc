#include "pkg/repac/plan_run.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace yardmaster::repac {

using fabric::Network;

PlanRun::PlanRun(const std::vector<NicConnection>& connections, const ForwardingModel& world,
                 const PathOptions& options)
    : ledger(connections, world, options.avoid),
      planner(world, ledger, options.candidates),
      network_(world.network()),
      excluded_(options.exclude) {
  std::sort(excluded_.begin(), excluded_.end());
}

bool PlanRun::Excluded(const NicConnection& connection) const {
  return std::binary_search(excluded_.begin(), excluded_.end(), connection.from) ||
         std::binary_search(excluded_.begin(), excluded_.end(), connection.to);
}

// The ports of the source NIC that the first link of a given path can follow.
std::vector<NicPort> PlanRun::PortsInto(const PlannedFlow& flow, LinkId first) const {
  std::vector<NicPort> ports;
  const CableId cable = Network::cable_of(first);
  for (int p = 0; p < network_.spec().nic_ports; ++p) {
    const NicPort src{flow.src.host, flow.src.rail, p};
    const bool leaves = network_.is_host_cable(cable)
                            ? network_.tor(network_.nic_port_of(cable)) == network_.tor(src)
                            : network_.switch_port_of(cable).id == network_.tor(src);
    if (leaves) ports.push_back(src);
  }
  return ports;
}

void PlanRun::PlanOne(PlannedFlow& flow) {
  if (Excluded(connection_of(flow))) {
    flow.reason = "the NIC is kept out of path plans";
    return;
  }
  const std::vector<LinkId>& via = ViaOf(flow);
  if (via.empty()) {
    planner.PlanFresh(flow);
    return;
  }
  flow.reason = "the given path does not begin at the source's ToR";
  for (const NicPort& src : PortsInto(flow, via[0])) {
    if (planner.PlanAlong(flow, src, via)) return;
  }
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
  struct Key {
    bool free = true;
    double bytes = 0;
    bool operator<(const Key& other) const {
      return free != other.free ? !free : bytes > other.bytes;
    }
  };
  std::vector<Key> keys;
  keys.reserve(flows.size());
  for (const PlannedFlow& flow : flows) {
    const NicConnection& connection = connections[static_cast<std::size_t>(flow.connection)];
    keys.push_back({(flow.back ? connection.via_back : connection.via).empty(), flow.bytes});
  }
  std::vector<int> order(flows.size());
  std::iota(order.begin(), order.end(), 0);
  if (std::is_sorted(keys.begin(), keys.end())) return order;
  std::stable_sort(order.begin(), order.end(), [&keys](int a, int b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  return order;
}

void SetHome(PlannedFlow& flow) {
  flow.home_port = flow.source_port;
  flow.home_src = flow.src;
  flow.home_links = flow.links;
}

PathPlan Finish(std::vector<PlannedFlow> flows, const ForwardingModel& world,
                const PathOptions& options) {
  PathPlan plan;
  plan.flows = std::move(flows);
  plan.fabric_generation = options.fabric_generation;
  plan.expires_ms = options.expires_ms;
  Account(world, plan);
  return plan;
}

}  // namespace yardmaster::repac
