// Decides which gangs to stop for another gang. preemption_step.h carries the decisions out.
//
// Decisions are part of planning the queue. If the first plan leaves a gang waiting that may stop
// others, the queue is planned a second time with victims: the gang then keeps its place (hosts of
// its victims and free ones) from the jobs behind it. A decision is written in its job's turn,
// before anything is committed for the jobs behind it.
//
// A gang is not considered again
//   - for one second after stopping others did not help it. A new process forgets this, which costs
//     one plan;
//   - for one minute after an eviction for it was refused or its victims did not end. The condition
//     Preempting of the Gang records this.
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
    std::int64_t max_grace_ms =
        600'000;  // longest grace period of a victim (gather/leaving_pods.h)
  };

  PreemptionDecider(Options options, MakePlan make_plan)
      : options_(options), make_plan_(std::move(make_plan)) {}

  // Returns the plan of the queue in which no gang is stopped. Adds to `effects` whether the plan
  // was computed again, and a wake-up for each time at which a placed job exceeds its declared run
  // time.
  plan::Plan PlanQueue(const PassFacts& facts, const plan::PlanOptions& options,
                       std::vector<Effect>& effects);
  // True if a gang that this plan leaves waiting may stop others.
  bool MayStopOthers(const PassFacts& facts, const plan::Plan& plan) const;
  // Returns the plan with victims for jobs that do not fit otherwise. REQUIRES: facts.budgets.
  plan::Plan PlanWithVictims(const PassFacts& facts, plan::PlanOptions options);
  // The turn of a job: records its decision, or gives an earlier one up if all victims have left
  // and the job still does not fit.
  Decision Decide(const PassFacts& facts, const plan::JobPlan& job);
  // Stops jobs on lent spares for a placed gang whose lost ranks find no other host.
  Decision TakeBack(const PassFacts& facts, plan::JobId job, const std::vector<int>& lost_ranks);

 private:
  bool MayDecide(const PassFacts& facts, plan::JobId job) const;
  plan::Snapshot WithBudgets(const PassFacts& facts) const;
  Decision Record(const PassFacts& facts, plan::JobId job, const plan::Preemption& decision);

  const Options options_;
  const MakePlan make_plan_;
  plan::PlanMemo memo_;                                         // plans in which no job is stopped
  std::map<std::string, std::int64_t> last_failed_attempt_ms_;  // steady clock, by uid of the Gang
};

}  // namespace yardmaster::extender
