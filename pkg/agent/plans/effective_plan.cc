#include "pkg/agent/plans/effective_plan.h"

#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/traffic_class.h"

namespace yardmaster::agent {

namespace {

// Default behaviour, with what is known of the pod's place kept.
EffectivePlan Default(EffectivePlan plan, rpc::PlanState state, std::string problem) {
  plan.state = state;
  plan.problem = std::move(problem);
  plan.level = std::nullopt;
  plan.paths = {};
  return plan;
}

std::string Unreadable(const char* annotation, const absl::Status& status) {
  return StrCat("annotation ", annotation, ": ", MessageOf(status));
}

absl::Status ReadPriority(const std::string& text, const fabric::NetworkLevels& levels,
                          EffectivePlan& plan) {
  const std::optional<int> level = ParseNumber<int>(text);
  if (!level.has_value()) {
    return absl::InvalidArgumentError(
        StrCat("expected a level from 0 to ", levels.count - 1, ", got \"", text, "\""));
  }
  YM_ASSIGN_OR_RETURN(plan.paths.traffic_class, fabric::TrafficClassOf(levels, *level));
  plan.level = level;
  return absl::OkStatus();
}

}  // namespace

bool FabricView::operator==(const FabricView& other) const {
  return name == other.name && uid == other.uid && generation == other.generation &&
         rails == other.rails && nic_ports == other.nic_ports &&
         levels.count == other.levels.count &&
         levels.traffic_class_of_level == other.levels.traffic_class_of_level;
}

int EffectivePlan::peers() const {
  std::size_t count = 0;
  for (const api::RailPaths& rail : paths.rails) count += rail.peers.size();
  return static_cast<int>(count);
}

EffectivePlan Evaluate(const PodInput& pod, const std::optional<FabricView>& fabric,
                       std::int64_t now_ms) {
  using rpc::PlanState;
  EffectivePlan plan;
  if (pod.slot.has_value()) {
    auto slot = api::DecodeSlot(*pod.slot);
    if (!slot.ok()) {
      return Default(plan, PlanState::kInvalid, Unreadable(api::kSlotAnnotation, slot.status()));
    }
    plan.slot = *std::move(slot);
  }
  if (pod.priority.has_value()) {
    const fabric::NetworkLevels levels = fabric ? fabric->levels : fabric::NetworkLevels{};
    if (auto status = ReadPriority(*pod.priority, levels, plan); !status.ok()) {
      return Default(plan, PlanState::kInvalid, Unreadable(api::kPriorityAnnotation, status));
    }
  }
  if (pod.path_plan.has_value()) {
    auto paths = api::DecodePathPlan(*pod.path_plan);
    if (!paths.ok()) {
      return Default(plan, PlanState::kInvalid,
                     Unreadable(api::kPathPlanAnnotation, paths.status()));
    }
    if (fabric && !fabric->uid.empty() && !paths->fabric_uid.empty() &&
        paths->fabric_uid != fabric->uid) {
      return Default(plan, PlanState::kStale,
                     StrCat("the network plan is for another Fabric than ", fabric->name,
                            ", which was recreated since"));
    }
    if (fabric && paths->fabric_generation < fabric->generation) {
      return Default(plan, PlanState::kStale,
                     StrCat("the network plan is for generation ", paths->fabric_generation,
                            " of Fabric ", fabric->name, ", which is at ", fabric->generation));
    }
    if (paths->expires_ms <= now_ms) {
      return Default(plan, PlanState::kStale,
                     StrCat("the network plan expired at ", FormatTime(paths->expires_ms)));
    }
    paths->traffic_class = plan.paths.traffic_class;
    plan.paths = *std::move(paths);
  }
  const bool has_plan = pod.priority.has_value() || pod.path_plan.has_value();
  plan.state = has_plan ? PlanState::kSynced : PlanState::kAwaiting;
  return plan;
}

}  // namespace yardmaster::agent
