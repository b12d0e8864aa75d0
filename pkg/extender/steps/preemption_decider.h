// Decides to stop gangs for another one; preemption_step.h carries the decisions out.
//
// The decisions are part of planning the queue: a job that does not fit, and for which others can
// be stopped, keeps its place (the victims' hosts and free ones) from the jobs behind it, in the
// same plan. So the queue is planned a second time when the first plan leaves a gang waiting that
// may stop others; this class knows which gangs may, what budgets allow, and which gangs leave. A decision
// is then written in its job's turn, before anything is committed for the jobs behind it.
//
// A gang is not asked about again for a second when stopping others did not help it, nor for a minute
// when an eviction for its sake was refused or its victims did not end. Forgetting both, as a new process does,
// costs a plan and nothing else.
//
// Thread safety: one thread. Lifetimes: everything passed in outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/extender/steps/budget_reader.h"
#include "pkg/extender/steps/pass_step.h"
#include "pkg/extender/steps/preemption_step.h"
#include "pkg/plan/plan_memo.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/preemption.h"

namespace yardmaster::extender {

class PreemptionDecider : PassStep {
 public:
  struct Options {
    bool enabled = true;
    std::int64_t max_grace_ms = 600'000;  // eviction.h
  };

  PreemptionDecider(const StepTools& tools, PreemptionStep& step, BudgetReader& budgets,
                    Options options)
      : PassStep(tools), step_(step), budgets_(budgets), options_(options) {}

  // The plan of the queue, with the victims for jobs that do not fit otherwise. Writes the budgets
  // that it reads into the snapshot.
  plan::Plan PlanQueue(PassState& pass, plan::PlanOptions options);
  // A job's turn: gives up what did not fit although its victims have left, and records what was
  // decided. False: a decision could not be recorded, so those of the jobs behind it, which count
  // on it, have to wait for the next pass.
  bool Decide(PassState& pass, const plan::JobPlan& job);
  // A placed gang whose lost ranks find no host: takes lent spares back. `job` has lost_ranks set.
  void DecideTakeBack(PassState& pass, plan::JobId job);

 private:
  void WakeAtEnds(PassState& pass) const;
  bool MayDecide(const PassState& pass, plan::JobId job) const;
  bool AnyMayStopOthers(const PassState& pass, const plan::Plan& plan) const;
  bool Prepare(PassState& pass, plan::Snapshot& snapshot);
  void GiveUpIfInVain(PassState& pass, plan::JobId job);
  bool Record(PassState& pass, plan::JobId job, const plan::Preemption& decision);

  PreemptionStep& step_;
  BudgetReader& budgets_;
  const Options options_;
  plan::PlanMemo memo_;                          // of plans in which no job is stopped
  std::map<std::string, std::int64_t> in_vain_;  // uid of a Gang -> steady time of the last try
};

}  // namespace yardmaster::extender
