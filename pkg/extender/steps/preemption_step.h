// Gang preemption in the cluster: carries out the decisions to stop gangs for another one, which
// preemption_decider.h takes.
//
// A decision is one write: status.preemption of the gang W that gets room names the victims and the
// hosts kept for W. From then on the present leader carries it on from the objects alone:
//   1. victims get the condition Preempted and an event, and their pods are evicted by the eviction
//      subresource, so that the API server enforces disruption budgets and the pods get SIGTERM and
//      their grace period to write a checkpoint;
//   2. a victim none of whose pods can run any more gives its hosts back: its assignments are
//      removed, in one write, and it waits in the queue again;
//   3. W is planned onto the hosts kept for it; its commit removes the decision.
// A decision is given up when W no longer waits in full, when a victim is in quarantine, when a budget
// stands in the way, when the API server refuses an eviction, when victims have not ended two minutes after
// the longest grace that an eviction has (eviction.h), or when W does not fit although all victims have
// left. Victims that still hold their hosts then keep them, and pods evicted meanwhile are
// made again there.
//
// Never two preemptors for one place: hosts kept for W are refused to every other plan, and
// its victims are treated as gone in every other decision. A gang never stops one of equal priority
// (plan/preemption.h), and gangs with preemptionPolicy Never stop no gang.
//
// Thread safety: one thread calls; it writes on several. Lifetimes: everything passed in outlives
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/extender/steps/budget_reader.h"
#include "pkg/extender/steps/pass_step.h"

namespace yardmaster::extender {

class PreemptionStep : PassStep {
 public:
  PreemptionStep(const StepTools& tools, BudgetReader& budgets, std::size_t eviction_threads,
                 std::int64_t max_grace_ms)
      : PassStep(tools),
        budgets_(budgets),
        eviction_threads_(eviction_threads),
        max_grace_ms_(max_grace_ms) {}

  // Before the snapshot: moves every decision on the ledger one step on.
  void CarryOn(PassState& pass);
  // After the snapshot was built: keeps the decisions' hosts for their gangs, also for those that wait for their next
  // pass to be planned.
  static void KeepHosts(PassState& pass);
  // Evicts pods, each by its uid. Returns what a disruption budget answered; empty: none refused.
  std::string Evict(PassState& pass, const std::vector<PodPtr>& pods,
                    std::optional<std::int64_t> grace_ms = std::nullopt);
  // A decision that is no longer needed, or that cannot be carried out.
  void GiveUp(PassState& pass, const NamespacedName& gang, const std::string& reason,
              const std::string& message);

 private:
  void CarryOnOne(PassState& pass, const NamespacedName& key);
  // True: the victims have had their time.
  bool IsTooLate(PassState& pass, const api::PreemptionStatus& preemption) const;
  bool Tell(PassState& pass, const NamespacedName& victim, const api::Gang& winner);
  bool AllGone(PassState& pass, const NamespacedName& victim);
  bool TakeHosts(PassState& pass, const NamespacedName& victim, const api::Gang& winner);
  void ForgetOldVictims(PassState& pass);

  BudgetReader& budgets_;
  const std::size_t eviction_threads_;
  const std::int64_t max_grace_ms_;
};

}  // namespace yardmaster::extender
