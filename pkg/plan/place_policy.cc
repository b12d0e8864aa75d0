#include "pkg/plan/place_policy.h"

#include <algorithm>
#include <utility>

#include "pkg/placement/replacement.h"
#include "pkg/plan/plan_draft.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using placement::GangPlan;
using placement::Outcome;

bool ReplaceRanks(PlanDraft& draft, JobPlan& job) {
  const JobState& state = draft.state(job.job);
  if (state.lost_ranks.empty()) return false;
  job.gang = placement::ReplaceHosts(draft.cluster, draft.RequestOf(job.job),
                                     state.assignment->host_of_rank, state.lost_ranks,
                                     draft.backup_policy());
  job.is_new = job.uses_backup = job.gang.outcome == Outcome::kPlaced;
  if (job.is_new) draft.Occupy(job.job, job.gang.host_of_rank);
  return true;
}

// Candidates are what the gang planner takes when it prefers segments whose uplinks are less busy,
// or have less at stake.
bool ChooseByContention(PlanDraft& draft, JobPlan& job) {
  if (!draft.snapshot.network || job.gang.objective.segments < 2 || !job.gang.optimal) return false;
  const ContentionCost& cost = draft.contention();
  std::vector<GangPlan> gangs = {job.gang};
  std::vector<std::vector<HostId>> places = {job.gang.host_of_rank};
  for (std::vector<double> load : {cost.BusyUplinks(), cost.FlopAtStake()}) {
    draft.cluster.uplink_load = std::move(load);
    GangPlan other = draft.Search(job.job, /*explain=*/false);
    draft.cluster.uplink_load = draft.snapshot.cluster.uplink_load;
    const bool equal = other.outcome == Outcome::kPlaced && other.objective == job.gang.objective;
    if (!equal || std::find(places.begin(), places.end(), other.host_of_rank) != places.end()) {
      continue;
    }
    places.push_back(other.host_of_rank);
    gangs.push_back(std::move(other));
  }
  if (gangs.size() == 1) return false;
  PlaceChoice choice = ChoosePlace(draft.snapshot, cost, job.job, places);
  job.gang = std::move(gangs[choice.chosen]);
  job.contention_note = std::move(choice.note);
  return true;
}

bool ChooseVictims(PlanDraft& draft, JobPlan& job) {
  ++draft.victim_searches;
  job.sought_victims = true;
  Snapshot& after = draft.Afterwards();
  job.preemption = PlanPreemption(after, job.job, {.placement = draft.options});
  if (!job.preemption) return false;
  for (const JobId victim : job.preemption->victims) {
    draft.stopped.push_back(victim);
    for (const BudgetUse& use : draft.state(victim).budgets) {
      after.budgets[static_cast<std::size_t>(use.budget)].allowed -= use.pods;
    }
  }
  draft.KeepFor(job.job, job.preemption->gang.host_of_rank);
  return true;
}

}  // namespace

PlacePolicy ReplaceLostRanks() { return {PlanStep::kPlaced, ReplaceRanks}; }

PlacePolicy AvoidContention() { return {PlanStep::kFound, ChooseByContention}; }

PlacePolicy StopOthers(int max_jobs) {
  return {PlanStep::kWaits, [max_jobs](PlanDraft& draft, JobPlan& job) {
            return draft.victim_searches < max_jobs && draft.state(job.job).may_stop_others &&
                   ChooseVictims(draft, job);
          }};
}

}  // namespace yardmaster::plan
