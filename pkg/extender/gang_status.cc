#include "pkg/extender/gang_status.h"

#include <vector>

#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {
constexpr std::size_t kMaxRelaxationsShown = 2;
}  // namespace

std::string Explain(const placement::GangPlan& plan) {
  std::vector<std::string> sentences;
  for (const placement::Reason& reason : plan.reasons) sentences.push_back(reason.message);
  // The nearest changes that would help; the status lists all.
  std::size_t shown = 0;
  for (const placement::Relaxation& relaxation : plan.relaxations) {
    const bool helps = relaxation.outcome < plan.outcome;
    if (!helps || shown == kMaxRelaxationsShown) continue;
    ++shown;
    sentences.push_back(StrCat("with ", relaxation.change, ": ", Name(relaxation.outcome)));
  }
  return Join(sentences, "; ");
}

api::GangStatus Committed(const api::Gang& gang, const placement::GangPlan& plan,
                          const plan::JobState& job, const plan::Snapshot& snapshot,
                          std::int64_t now_ms) {
  const fabric::Places& places = *snapshot.places;
  api::GangStatus status = gang.status;
  status.observed_generation = gang.metadata.generation;
  status.plan_generation = gang.status.plan_generation + 1;
  status.fabric = snapshot.network ? snapshot.network->spec().name : "";
  status.committed_ms = now_ms;
  status.outcome = placement::Outcome::kPlaced;
  status.objective = plan.objective;
  status.reasons.clear();
  status.relaxations.clear();
  status.assignments.clear();
  for (std::size_t rank = 0; rank < plan.host_of_rank.size(); ++rank) {
    const fabric::HostId host = plan.host_of_rank[rank];
    status.assignments.push_back(
        {static_cast<int>(rank), places.name(host), places.name(places.fabric_pod_of(host)),
         places.name(places.segment_of(host)), job.groups.stages_of_worker[rank]});
  }
  api::SetCondition(
      status.conditions,
      {api::kPlannedCondition, api::ConditionStatus::kTrue, "Placed",
       StrCat(Count(job.job.workers, "worker"), " in ", Count(plan.objective.segments, "segment"),
              " of ", Count(plan.objective.fabric_pods, "fabric pod")),
       gang.metadata.generation, 0},
      now_ms);
  return status;
}

api::GangStatus NotPlaced(const api::Gang& gang, const placement::GangPlan& plan,
                          std::int64_t now_ms) {
  api::GangStatus status = gang.status;
  status.observed_generation = gang.metadata.generation;
  status.outcome = plan.outcome;
  status.reasons = plan.reasons;
  status.relaxations = plan.relaxations;
  api::SetCondition(status.conditions,
                    {api::kPlannedCondition, api::ConditionStatus::kFalse,
                     std::string(Name(plan.outcome)), Explain(plan), gang.metadata.generation, 0},
                    now_ms);
  return status;
}

}  // namespace yardmaster::extender
