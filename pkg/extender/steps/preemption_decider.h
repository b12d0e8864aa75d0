// Decides to stop gangs for another one; preemption_step.h carries the decisions out.
//
// The decisions are part of planning the queue: a job that does not fit, and for which others can
// be stopped, keeps its place (the victims' hosts and free ones) from the jobs behind it, in the
// same plan. So the queue is planned a second time when the first plan leaves a gang waiting that
// may stop others; this class knows which gangs may, what budgets allow, and which gangs leave. A
// decision is then written in its job's turn, before anything is committed for the jobs behind it.
//
// A gang is not asked about again for a second when stopping others did not help it, which a new
// process forgets at the cost of a plan, nor for a minute when an eviction for its sake was refused
// or its victims did not end, which the Gang's condition remembers.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pkg/extender/effects/effect.h"
#include "pkg/plan/plan_memo.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/preemption.h"

namespace yardmaster::extender {

using MakePlan = std::function<plan::Plan(const plan::Snapshot&, const plan::PlanOptions&)>;

class PreemptionDecider {
 public:
  struct Options {
    bool enabled = true;
    std::int64_t max_grace_ms = 600'000;  // gather/leaving_pods.h
  };

  PreemptionDecider(Options options, MakePlan make_plan)
      : options_(options), make_plan_(std::move(make_plan)) {}

  // The plan of the queue in which no gang is stopped. `effects` says whether it was made again,
  // and wakes a pass when a job ends that has run for as long as it said.
  plan::Plan PlanQueue(const PassFacts& facts, const plan::PlanOptions& options,
                       std::vector<Effect>& effects);
  // Whether some gang that this plan leaves waiting may stop others.
  bool MayStopOthers(const PassFacts& facts, const plan::Plan& plan) const;
  // The plan with the victims for jobs that do not fit otherwise. REQUIRES: facts.budgets.
  plan::Plan PlanWithVictims(const PassFacts& facts, plan::PlanOptions options);
  // A job's turn: gives up what did not fit although its victims have left, or records what was
  // decided.
  Decision Decide(const PassFacts& facts, const plan::JobPlan& job);
  // A placed gang whose ranks have lost their hosts and find no other: takes lent spares back.
  Decision TakeBack(const PassFacts& facts, plan::JobId job, const std::vector<int>& lost_ranks);

 private:
  bool MayDecide(const PassFacts& facts, plan::JobId job) const;
  plan::Snapshot WithBudgets(const PassFacts& facts) const;
  Decision Record(const PassFacts& facts, plan::JobId job, const plan::Preemption& decision);

  const Options options_;
  const MakePlan make_plan_;
  plan::PlanMemo memo_;  // of plans in which no job is stopped
  std::map<std::string, std::int64_t> last_failed_attempt_ms_;  // steady, by uid of the Gang
};

}  // namespace yardmaster::extender
