#include "pkg/repac/path_plan.h"

#include <algorithm>
#include <utility>

namespace yardmaster::repac {

namespace {

using fabric::Network;

// `loads` by link. `largest`: the bytes of the largest of these flows.
Balance BalanceOf(const ForwardingModel& forwarding, SwitchId tor, bool inbound,
                  const std::vector<LinkLoad>& loads, double largest) {
  const Network& network = forwarding.network();
  Balance balance;
  balance.tor = tor;
  balance.inbound = inbound;
  double bytes = 0;
  for (int port = 0; port < network.num_up_ports(tor); ++port) {
    const CableId cable = network.up_cable(tor, port);
    const LinkLoad& load = loads[(inbound ? Network::down(cable) : Network::up(cable)).index()];
    balance.links += forwarding.is_down(cable) ? 0 : 1;
    balance.flows += load.flows;
    bytes += load.bytes;
    balance.max_flows = std::max(balance.max_flows, load.flows);
    balance.max_bytes = std::max(balance.max_bytes, load.bytes);
  }
  const int links = std::max(balance.links, 1);
  balance.bound_flows = (balance.flows + balance.links - 1) / links;
  balance.bound_bytes = std::max(largest, bytes / links);
  return balance;
}

}  // namespace

void Account(const ForwardingModel& forwarding, PathPlan& plan) {
  const Network& network = forwarding.network();
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
  for (int l = 0; l < network.num_links(); ++l) {
    LinkLoad& load = loads[static_cast<std::size_t>(l)];
    if (load.flows == 0) continue;
    load.link = LinkId(l);
    plan.loads.push_back(load);
  }
  plan.balances.clear();
  for (int s = 0; s < forwarding.num_tors(); ++s) {
    const SwitchId tor(s);
    for (const bool inbound : {false, true}) {
      const auto& [out, in] = largest[tor.index()];
      const Balance balance = BalanceOf(forwarding, tor, inbound, loads, inbound ? in : out);
      if (balance.flows > 0) plan.balances.push_back(balance);
    }
  }
}

}  // namespace yardmaster::repac
