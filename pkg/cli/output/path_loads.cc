#include "pkg/cli/output/path_loads.h"

#include <map>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/repac/path_plan.h"

namespace yardmaster::cli {

using nlohmann::json;

json UplinksJson(const plan::Snapshot& snapshot, const netplan::NetworkPlan& plan) {
  json out = json::array();
  const fabric::Network& network = *snapshot.network;
  const auto hashes = repac::SwitchHashes::Compile(network);
  if (!hashes.ok()) return out;
  std::vector<fabric::CableId> down;
  for (std::size_t c = 0; c < snapshot.cable_down.size(); ++c) {
    if (snapshot.cable_down[c] != 0) down.emplace_back(static_cast<std::int32_t>(c));
  }
  repac::PathPlan counted;
  for (const netplan::PathAssignment& path : plan.paths) {
    repac::PlannedFlow flow;
    flow.source_port = path.source_port;
    flow.links = path.links;
    flow.bytes = 1;
    counted.flows.push_back(std::move(flow));
  }
  repac::Account(repac::ForwardingModel(network, *hashes, down), counted);
  std::map<std::pair<fabric::SwitchId, bool>, json> loads;
  for (const repac::LinkLoad& load : counted.loads) {
    const fabric::SwitchId lower = network.switch_port_of(fabric::Network::cable_of(load.link)).id;
    loads[{lower, fabric::Network::is_down(load.link)}][network.name(load.link)] = load.flows;
  }
  for (const repac::Balance& balance : counted.balances) {
    out.push_back({{"switch", network.name(balance.tor)},
                   {"inbound", balance.inbound},
                   {"links", balance.links},
                   {"flows", balance.flows},
                   {"fullest", balance.max_flows},
                   {"bound", balance.bound_flows},
                   {"loads", loads[{balance.tor, balance.inbound}]}});
  }
  return out;
}

}  // namespace yardmaster::cli
