#include "pkg/agent/plans/plan_file.h"

#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

using nlohmann::ordered_json;

const char* NameOf(rpc::PlanState state) {
  static constexpr const char* kNames[] = {"Awaiting", "Syncing", "Synced", "Stale", "Invalid"};
  return kNames[static_cast<std::size_t>(state)];
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
    out["trafficClass"] = *plan.paths.traffic_class;
    environment["NCCL_IB_TC"] = StrCat(*plan.paths.traffic_class);
  }
  out["environment"] = std::move(environment);
  if (plan.paths.expires_ms > 0) {
    out["fabricGeneration"] = plan.paths.fabric_generation;
    out["expires"] = FormatTime(plan.paths.expires_ms);
  }
  out["rails"] = api::EncodeRails(plan.paths);
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace yardmaster::agent
