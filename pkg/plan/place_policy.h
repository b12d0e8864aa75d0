// What a plan does for a job besides searching a free place for it: one policy each, behind one
// interface. The caller says which (PlanOptions::policies).
//
// A policy is asked about each job that comes to its step; those of one step in the order given,
// until one has done something. It has no state of its own: what it needs of the plan so far is in
// the draft (plan_draft.h), so one policy serves any number of plans. To add a policy, write a
// function that makes it; the planner stays as it is.
//
// Deterministic. Thread safety: any thread, a draft each.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace yardmaster::plan {

struct JobPlan;
class PlanDraft;

enum class PlanStep : std::uint8_t {
  kPlaced,  // before the queue: a job that has a place
  kFound,   // a job of the queue for which the search found a place
  kWaits,   // a job of the queue that fits nowhere now
};

struct PlacePolicy {
  PlanStep step = PlanStep::kPlaced;
  // Changes the plan of the job and takes or keeps hosts of the draft for it. Returns whether it
  // did.
  std::function<bool(PlanDraft& draft, JobPlan& job)> apply;
};

using Policies = std::vector<PlacePolicy>;

// Finds new hosts for the lost ranks of placed jobs.
PlacePolicy ReplaceLostRanks();

// Takes, among places that are equal in the objective, the one at which the new job and those it
// shares uplinks with are predicted to get most done (contention_cost.h).
PlacePolicy AvoidContention();

// Chooses victims (preemption.h) for at most `max_jobs` of the first jobs of the queue that wait
// and may stop others. What they would get is kept from the jobs behind them.
PlacePolicy StopOthers(int max_jobs);

}  // namespace yardmaster::plan
