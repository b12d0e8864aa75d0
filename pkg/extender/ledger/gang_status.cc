#include "pkg/extender/ledger/gang_status.h"

#include <string_view>
#include <utility>
#include <vector>

#include "pkg/api/connection_report.h"
#include "pkg/api/profile_report.h"
#include "pkg/base/strings.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

namespace {

// Ends a condition that is true; one that is not, or is not there, stays as it is.
void EndIfThere(api::GangStatus& status, const api::Gang& gang, const char* type,
                const std::string& reason, const char* message, std::int64_t now_ms) {
  if (!api::IsTrue(status.conditions, type)) return;
  SetCondition(status, gang, type, false, reason, message, now_ms);
}

// What is said only of a gang that has a place.
constexpr const char* kOfAPlace[] = {
    api::kDegradedCondition,           api::kNetworkPlannedCondition, api::kPreemptingCondition,
    api::kHostRefusedCondition,        api::kRunningCondition,        api::kPodsGoneCondition,
    api::kConnectionsSteeredCondition, api::kStragglingCondition};

void Forget(api::GangStatus& status, std::string_view type) {
  std::erase_if(status.conditions,
                [&](const api::Condition& condition) { return condition.type == type; });
}

// Of a gang that gets a place: what was said of its former place, or of its wait, holds no more.
void StartAnew(api::GangStatus& status, const api::Gang& gang, std::int64_t now_ms) {
  for (const char* type : kOfAPlace) {
    if (!api::IsTrue(status.conditions, type)) Forget(status, type);
  }
  for (const char* type :
       {state::kFinishedCondition, api::kRequeuedCondition, api::kAwaitsHostsCondition}) {
    Forget(status, type);
  }
  if (api::FindCondition(status.conditions, api::kReleasedCondition) != nullptr) {
    SetCondition(status, gang, api::kReleasedCondition, false, "Placed",
                 "its pods are about to be released", now_ms);
  }
}

// It has no place to move from.
void EndMove(api::GangStatus& status, const std::string& why) {
  if (!status.is_promised_next()) return;
  const api::GangMove& move = *status.move;
  status.move =
      api::GangMove{move.id, api::GangMoveState::kGivenUp, why, move.promised_ms, 0, {}, {}};
}

void SetPlanned(api::GangStatus& status, const api::Gang& gang, int workers, std::int64_t now_ms) {
  status.outcome = placement::Outcome::kPlaced;
  status.reasons.clear();
  status.relaxations.clear();
  SetCondition(status, gang, api::kPlannedCondition, true, "Placed",
               StrCat(Count(workers, "worker"), " in ", Count(status.objective.segments, "segment"),
                      " of ", Count(status.objective.fabric_pods, "fabric pod")),
               now_ms);
}

}  // namespace

bool SetCondition(api::GangStatus& status, const api::Gang& gang, const char* type, bool holds,
                  const std::string& reason, const std::string& message, std::int64_t now_ms) {
  const auto is = holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse;
  return api::SetCondition(status.conditions,
                           {type, is, reason, message, gang.metadata.generation, 0}, now_ms);
}

api::GangStatus Committed(const api::Gang& gang, const placement::GangPlan& plan,
                          const plan::JobState& job, const plan::Snapshot& snapshot,
                          std::int64_t now_ms) {
  const fabric::Places& places = *snapshot.places;
  api::GangStatus status = gang.status;
  status.observed_generation = gang.metadata.generation;
  status.plan_generation = gang.status.plan_generation + 1;
  status.fabric = snapshot.network ? snapshot.network->spec().name : "";
  if (!gang.status.committed()) {
    status.committed_ms = now_ms;
    StartAnew(status, gang, now_ms);
  }
  status.preemption.reset();
  EndIfThere(status, gang, api::kPreemptingCondition, "Placed", "the gang has its place", now_ms);
  EndIfThere(status, gang, api::kPreemptedCondition, "PlacedAgain", "the gang has a place again",
             now_ms);
  EndIfThere(status, gang, api::kExpeditedCondition, "Placed", "the gang has a place again",
             now_ms);
  status.objective = plan.objective;
  const bool resized = plan.host_of_rank.size() == static_cast<std::size_t>(gang.job.workers);
  if (resized && api::FindCondition(status.conditions, api::kResizedCondition) != nullptr) {
    SetCondition(status, gang, api::kResizedCondition, true, "Placed",
                 "the gang has every worker that its owner wants", now_ms);
  }
  status.assignments = AssignmentsOf(plan.host_of_rank, job, places);
  SetPlanned(status, gang, job.job.workers, now_ms);
  return status;
}

std::vector<api::AssignmentEntry> AssignmentsOf(const std::vector<fabric::HostId>& host_of_rank,
                                                const plan::JobState& job,
                                                const fabric::Places& places) {
  std::vector<api::AssignmentEntry> assignments;
  assignments.reserve(host_of_rank.size());
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    const fabric::HostId host = host_of_rank[rank];
    assignments.push_back(
        {static_cast<int>(rank), places.name(host), places.name(places.fabric_pod_of(host)),
         places.name(places.segment_of(host)), job.groups->stages_of_worker[rank],
         places.has_domains() ? places.name(places.domain_of(host)) : std::string()});
  }
  return assignments;
}

api::GangStatus Moved(const api::Gang& gang, std::int64_t now_ms) {
  api::GangStatus status = gang.status;
  api::GangMove& move = *status.move;
  for (const char* type : kOfAPlace) {
    EndIfThere(status, gang, type, "Moved", "the gang has another place", now_ms);
  }
  StartAnew(status, gang, now_ms);
  ++status.plan_generation;
  status.committed_ms = now_ms;
  status.assignments = std::exchange(move.assignments, {});
  status.objective = std::exchange(move.objective, {});
  status.network.reset();
  SetPlanned(status, gang, static_cast<int>(status.assignments.size()), now_ms);
  move.state = api::GangMoveState::kDone;
  move.expires_ms = 0;
  return status;
}

api::GangStatus PlacedAsBefore(const api::Gang& gang, const plan::JobState& job,
                               const plan::Snapshot& snapshot, std::int64_t now_ms) {
  api::GangStatus status = gang.status;
  status.objective =
      placement::Evaluate(*snapshot.places, *job.groups, job.assignment->host_of_rank);
  SetPlanned(status, gang, gang.placed_workers(), now_ms);
  return status;
}

api::GangStatus Degraded(const api::Gang& gang, const plan::JobState& job,
                         const plan::Snapshot& snapshot, std::int64_t now_ms) {
  api::GangStatus status = gang.status;
  if (job.lost_ranks.empty()) {
    EndIfThere(status, gang, api::kDegradedCondition, "HostsHealthy", "every rank's host is there",
               now_ms);
    return status;
  }
  constexpr std::size_t kShown = 4;
  std::vector<std::string> ranks;
  for (int rank : job.lost_ranks) {
    if (ranks.size() == kShown) {
      ranks.push_back("...");
      break;
    }
    const fabric::HostId host = job.assignment->host_of_rank[static_cast<std::size_t>(rank)];
    ranks.push_back(StrCat("rank ", rank, " on ", snapshot.places->name(host)));
  }
  SetCondition(
      status, gang, api::kDegradedCondition, true, "HostLost",
      StrCat(job.lost_ranks.size(), " of ", Count(job.job.workers, "rank"),
             " lost the host: ", Join(ranks, ", "), "; each moves once its pod was removed"),
      now_ms);
  return status;
}

api::GangStatus Finished(const api::Gang& gang, const std::string& reason, const std::string& why,
                         std::int64_t now_ms) {
  api::GangStatus status = gang.status;
  status.observed_generation = gang.metadata.generation;
  status.refusals.clear();
  EndMove(status, why);
  for (const char* type : kOfAPlace) {
    EndIfThere(status, gang, type, reason, "it holds no host", now_ms);
  }
  SetCondition(status, gang, state::kFinishedCondition, true, reason, why, now_ms);
  return status;
}

api::GangStatus GivenBack(const api::Gang& gang, const std::string& reason, const std::string& why,
                          std::int64_t now_ms) {
  api::GangStatus status = gang.status;
  status.observed_generation = gang.metadata.generation;
  status.outcome = placement::Outcome::kNotNow;
  status.objective = {};
  status.assignments.clear();
  status.reasons.clear();
  status.relaxations.clear();
  status.network.reset();
  status.preemption.reset();
  EndMove(status, why);
  for (const char* type : {api::kPlannedCondition, api::kReleasedCondition}) {
    SetCondition(status, gang, type, false, reason, why, now_ms);
  }
  for (const char* type : kOfAPlace) {
    EndIfThere(status, gang, type, reason, "it holds no host", now_ms);
  }
  EndIfThere(status, gang, state::kFinishedCondition, reason, "it holds no host", now_ms);
  Forget(status, api::kResizedCondition);
  return status;
}

void Expedite(api::GangStatus& status, const api::Gang& gang, const std::string& reason,
              std::int64_t now_ms) {
  const api::Condition* last = api::FindCondition(status.conditions, api::kExpeditedCondition);
  if (last != nullptr && now_ms - last->transition_ms < kExpediteAgainMs) return;
  EndExpedited(status, gang, now_ms);  // or the new one would have the transition of the last
  SetCondition(status, gang, api::kExpeditedCondition, true, reason,
               StrCat("it lost its place through no act of its owner: for ", kExpediteMs / 60'000,
                      " minutes from the transition it goes before gangs of its priority, and the "
                      "hosts of its next place are kept for it"),
               now_ms);
}

std::optional<std::int64_t> ExpeditedSinceMs(const api::GangStatus& status, std::int64_t now_ms) {
  const api::Condition* expedited = api::FindCondition(status.conditions, api::kExpeditedCondition);
  if (expedited == nullptr || expedited->status != api::ConditionStatus::kTrue) return std::nullopt;
  // In the future: by the clock of another process.
  const std::int64_t age_ms = now_ms - expedited->transition_ms;
  return age_ms >= 0 && age_ms < kExpediteMs ? std::optional(expedited->transition_ms)
                                             : std::nullopt;
}

void EndExpedited(api::GangStatus& status, const api::Gang& gang, std::int64_t now_ms) {
  if (ExpeditedSinceMs(status, now_ms)) return;
  EndIfThere(status, gang, api::kExpeditedCondition, "LimitReached",
             "it waits like any other gang of its priority", now_ms);
}

api::GangStatus WithoutPods(const api::Gang& gang, const std::string& reason,
                            const std::string& why, std::int64_t now_ms) {
  api::GangStatus status = gang.status;
  status.observed_generation = gang.metadata.generation;
  status.outcome = placement::Outcome::kNotNow;
  status.reasons.clear();
  status.relaxations.clear();
  SetCondition(status, gang, api::kPlannedCondition, false, reason, why, now_ms);
  return status;
}

std::optional<api::GangStatus> WithOperatorsPart(const api::Gang& base,
                                                 const api::GangStatus& wanted,
                                                 const api::Gang& now) {
  api::Gang rest = now;
  rest.metadata.resource_version = base.metadata.resource_version;
  rest.status.network = base.status.network;
  rest.status.conditions = base.status.conditions;
  if (rest != base) return std::nullopt;
  api::GangStatus status = wanted;
  if (wanted.network == base.status.network) status.network = now.status.network;
  const auto of_base = [&](const std::vector<api::Condition>& conditions, const std::string& type) {
    const api::Condition* before = api::FindCondition(base.status.conditions, type);
    const api::Condition* there = api::FindCondition(conditions, type);
    return before == nullptr ? there == nullptr : there != nullptr && *there == *before;
  };
  for (const api::Condition& condition : now.status.conditions) {
    if (of_base(now.status.conditions, condition.type)) continue;
    if (!of_base(wanted.conditions, condition.type)) continue;
    Forget(status, condition.type);
    status.conditions.push_back(condition);
  }
  return status;
}

api::GangStatus NotPlaced(const api::Gang& gang, const placement::GangPlan& plan,
                          std::int64_t now_ms) {
  api::GangStatus status = gang.status;
  status.observed_generation = gang.metadata.generation;
  status.outcome = plan.outcome;
  status.reasons = plan.reasons;
  status.relaxations = plan.relaxations;
  SetCondition(status, gang, api::kPlannedCondition, false, std::string(Name(plan.outcome)),
               placement::Sentence(plan), now_ms);
  return status;
}

}  // namespace yardmaster::extender
