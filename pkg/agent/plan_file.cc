#include "pkg/agent/plan_file.h"

#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

using nlohmann::ordered_json;

ordered_json Rails(const api::PathPlan& paths) {
  ordered_json rails = ordered_json::array();
  for (const api::RailPaths& rail : paths.rails) {
    ordered_json peers = ordered_json::array();
    for (const api::PeerPaths& peer : rail.peers) {
      peers.push_back({{"rank", peer.rank},
                       {"host", peer.host},
                       {"address", peer.address},
                       {"plane", peer.plane},
                       {"sourcePorts", peer.source_ports}});
      if (!peer.alternate_ports.empty()) peers.back()["alternatePorts"] = peer.alternate_ports;
      for (const api::TcpPaths& tcp : peer.tcp) {
        peers.back()["tcp"].push_back(
            {{"listenPort", tcp.listen_port}, {"sourcePorts", tcp.source_ports}});
      }
    }
    ordered_json entry = {{"rail", rail.rail}};
    if (!rail.address.empty()) entry["address"] = rail.address;
    if (!rail.device.empty()) entry["device"] = rail.device;
    entry["peers"] = std::move(peers);
    rails.push_back(std::move(entry));
  }
  return rails;
}

}  // namespace

const char* NameOf(rpc::PlanState state) {
  switch (state) {
    case rpc::PlanState::kAwaiting:
      return "Awaiting";
    case rpc::PlanState::kSyncing:
      return "Syncing";
    case rpc::PlanState::kSynced:
      return "Synced";
    case rpc::PlanState::kStale:
      return "Stale";
    case rpc::PlanState::kInvalid:
      return "Invalid";
  }
  return "Unknown";
}

std::string EncodePlanFile(const PodInput& pod, const EffectivePlan& plan) {
  ordered_json out = {
      {"version", kPlanFileVersion},
      {"pod", {{"namespace", pod.ns}, {"name", pod.name}, {"uid", pod.uid}, {"node", pod.node}}},
      {"state", NameOf(plan.state)}};
  if (!plan.problem.empty()) out["reason"] = plan.problem;
  if (plan.slot.has_value()) {
    out["gang"] = plan.slot->gang;
    out["rank"] = plan.slot->rank;
    out["fabricPod"] = plan.slot->fabric_pod;
    out["segment"] = plan.slot->segment;
    out["stages"] = plan.slot->stages;
  }
  ordered_json environment = ordered_json::object();
  if (plan.level.has_value()) {
    out["level"] = *plan.level;
    out["trafficClass"] = plan.traffic_class;
    environment["NCCL_IB_TC"] = StrCat(plan.traffic_class);
  }
  out["environment"] = std::move(environment);
  if (plan.valid_until_ms > 0) {
    out["fabricGeneration"] = plan.paths.fabric_generation;
    out["expires"] = FormatTime(plan.valid_until_ms);
  }
  out["rails"] = Rails(plan.paths);
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace yardmaster::agent
