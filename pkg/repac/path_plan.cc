#include "pkg/repac/path_plan.h"

#include <algorithm>
#include <map>
#include <utility>

namespace yardmaster::repac {

namespace {

using fabric::Network;

// Collects one Balance.
struct Gathered {
  std::vector<LinkLoad> links;
  double largest = 0;
};

Balance Summarise(SwitchId tor, bool inbound, int links, const Gathered& gathered) {
  Balance balance;
  balance.tor = tor;
  balance.inbound = inbound;
  balance.links = links;
  double bytes = 0;
  for (const LinkLoad& load : gathered.links) {
    balance.flows += load.flows;
    bytes += load.bytes;
    balance.max_flows = std::max(balance.max_flows, load.flows);
    balance.max_bytes = std::max(balance.max_bytes, load.bytes);
  }
  balance.bound_flows = (balance.flows + links - 1) / std::max(links, 1);
  balance.bound_bytes = std::max(gathered.largest, bytes / std::max(links, 1));
  return balance;
}

}  // namespace

std::vector<int> ChangedFlows(const PathPlan& before, const PathPlan& after) {
  std::vector<int> changed;
  for (std::size_t i = 0; i < after.flows.size(); ++i) {
    const PlannedFlow& a = before.flows[i];
    const PlannedFlow& b = after.flows[i];
    if (a.source_port != b.source_port || !(a.src == b.src)) changed.push_back(static_cast<int>(i));
  }
  return changed;
}

void Account(const ForwardingModel& world, PathPlan& plan) {
  const Network& network = world.network();
  std::vector<LinkLoad> loads(static_cast<std::size_t>(network.num_links()));
  // By ToR: out, in.
  std::vector<std::pair<double, double>> largest(static_cast<std::size_t>(network.num_switches()));
  plan.unplanned = 0;
  for (const PlannedFlow& flow : plan.flows) {
    if (!flow.planned()) ++plan.unplanned;
    for (LinkId link : flow.links) {
      if (network.is_host_cable(Network::cable_of(link))) continue;
      LinkLoad& load = loads[link.index()];
      ++load.flows;
      load.bytes += flow.bytes;
      const SwitchId lower = network.switch_port_of(Network::cable_of(link)).id;
      auto& big = largest[lower.index()];
      double& mine = Network::is_down(link) ? big.second : big.first;
      mine = std::max(mine, flow.bytes);
    }
  }
  plan.loads.clear();
  std::map<std::pair<SwitchId, bool>, Gathered> by_tor;
  for (int l = 0; l < network.num_links(); ++l) {
    LinkLoad& load = loads[static_cast<std::size_t>(l)];
    if (load.flows == 0) continue;
    load.link = LinkId(l);
    plan.loads.push_back(load);
    const SwitchId lower = network.switch_port_of(Network::cable_of(load.link)).id;
    if (network.tier_of(lower) != 0) continue;
    const bool inbound = Network::is_down(load.link);
    Gathered& gathered = by_tor[{lower, inbound}];
    gathered.links.push_back(load);
    const auto& big = largest[lower.index()];
    gathered.largest = inbound ? big.second : big.first;
  }
  plan.balances.clear();
  for (const auto& [key, gathered] : by_tor) {
    int links = 0;
    for (int u = 0; u < network.num_up_ports(key.first); ++u) {
      links += world.is_down(network.up_cable(key.first, u)) ? 0 : 1;
    }
    plan.balances.push_back(Summarise(key.first, key.second, links, gathered));
  }
}

}  // namespace yardmaster::repac
