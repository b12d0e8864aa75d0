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
  repac::PathPlan counted;
  // Of hashed flows; those that are sprayed are even everywhere.
  for (const netplan::PathAssignment& path : plan.paths) {
    if (!path.sprayed) counted.flows.push_back(path);
  }
  repac::Account(repac::ForwardingModel(network, *hashes, netplan::DownCables(snapshot)), counted);
  std::map<std::pair<fabric::SwitchId, bool>, json> loads;
  for (const repac::LinkLoad& load : counted.loads) {
    const fabric::SwitchId lower = network.switch_port_of(fabric::Network::cable_of(load.link)).id;
    loads[{lower, fabric::Network::is_down(load.link)}][network.name(load.link)] = load.flows;
  }
  const bool named = !network.spec().switch_names.empty();
  for (const repac::Balance& balance : counted.balances) {
    out.push_back({{"switch", network.name(balance.tor)},
                   {"inbound", balance.inbound},
                   {"links", balance.links},
                   {"flows", balance.flows},
                   {"fullest", balance.max_flows},
                   {"bound", balance.bound_flows},
                   {"loads", loads[{balance.tor, balance.inbound}]}});
    if (named) out.back()["switchName"] = network.shown(balance.tor);
  }
  return out;
}

}  // namespace yardmaster::cli
