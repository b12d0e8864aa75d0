// What a plan does for a job in addition to the search for a free place: one policy for each,
// behind one interface. The caller chooses the policies (PlanOptions::policies).
//
// The planner calls the policies of a step for each job that reaches the step, in the given order,
// until one has acted. A policy has no state: it finds what it needs of the plan so far in the
// draft (plan_draft.h), so one policy serves any number of plans. To add a policy, write a function
// that returns it; the planner does not change.
//
// Deterministic. Thread safety: any thread, each with its own draft.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace yardmaster::plan {

struct JobPlan;
class PlanDraft;

enum class PlanStep : std::uint8_t {
  kPlaced,  // before the queue: a job with a place
  kFound,   // a job of the queue for which the search found a place
  kWaits,   // a job of the queue that fits nowhere now
};

struct PlacePolicy {
  PlanStep step = PlanStep::kPlaced;
  // Changes the plan of the job, and takes or keeps hosts of the draft for it. Returns true if it
  // did.
  std::function<bool(PlanDraft& draft, JobPlan& job)> apply;
};

using Policies = std::vector<PlacePolicy>;

// Finds new hosts for the lost ranks of placed jobs.
PlacePolicy ReplaceLostRanks();

// Chooses, among places with equal objective, the one at which the new job and the jobs with which
// it shares uplinks are predicted to reach the most FLOP/s (contention_cost.h).
PlacePolicy AvoidContention();

// Chooses victims (preemption.h) for at most `max_jobs` jobs: the first of the queue that wait and
// may stop others. The places that they would get are kept from the jobs behind them.
PlacePolicy StopOthers(int max_jobs);

}  // namespace yardmaster::plan
