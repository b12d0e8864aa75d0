// Gang preemption in the cluster: the steps of a pass that decide to stop gangs for another one,
// and that carry such decisions out.
//
// A decision is one write: status.preemption of the gang W that gets room names the victims and the
// hosts kept for W. From then on whoever leads carries it on from the objects alone:
//   1. victims are told (condition Preempted, an event) and their pods evicted through the eviction
//      subresource, so that the API server enforces disruption budgets and the pods get SIGTERM and
//      their grace period to write a checkpoint;
//   2. a victim none of whose pods can run any more gives its hosts back: its assignments are
//      removed, in one write, and it waits in the queue again;
//   3. W is planned onto the hosts kept for it; its commit removes the decision.
// A decision is given up when W no longer waits in full, when a budget stands in the way, when the
// API server refuses an eviction, or when W does not fit although all victims have left. Victims
// that still hold their hosts then keep them, and pods evicted meanwhile are made again there.
//
// Never two preemptors for one place: hosts kept for W are refused to everybody else's plan, and
// its victims count as gone in everybody else's decision. A gang never stops one of equal priority
// (plan/preemption.h), and gangs with preemptionPolicy Never stop nobody.
//
// Thread safety: one thread calls; it writes on several. Lifetimes: everything passed in outlives
// it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/disruption_budget.h"
#include "pkg/base/clock.h"
#include "pkg/extender/ledger.h"
#include "pkg/extender/pass.h"
#include "pkg/kube/client.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/preemption.h"

namespace yardmaster::extender {

class PreemptionStep {
 public:
  using Notify = std::function<void(const Notice&)>;
  struct Options {
    bool enabled = true;
    int tries_per_pass = 4;          // plans of preemptions, each costs several gang plans
    std::int64_t retry_ms = 1'000;   // between passes that try
    std::int64_t pause_ms = 60'000;  // for a gang for whose sake an eviction was refused
    std::size_t eviction_threads = 8;
  };

  PreemptionStep(kube::Client& client, state::WorldCache& cache, Ledger& ledger, const Clock& clock,
                 Notify notify, Options options);

  // Before the snapshot: moves every decision on the ledger one step on.
  void CarryOn(PassState& pass);
  // After the snapshot was built: keeps the decisions' hosts for their gangs.
  static void KeepHosts(PassState& pass);
  // After placing: gives up what did not fit although its victims have left, then decides for those
  // that wait. `waiting`: indices of jobs that were not placed now, in queue order.
  void Decide(PassState& pass, const std::vector<int>& waiting);
  // A placed gang whose lost ranks find no host: takes lent spares back. `job` has lost_ranks set.
  void DecideTakeBack(PassState& pass, int job);
  // A decision that nobody needs any more.
  void GiveUp(PassState& pass, const NameKey& gang, const std::string& reason,
              const std::string& message);

 private:
  void CarryOnOne(PassState& pass, const NameKey& key);
  bool Tell(PassState& pass, const NameKey& victim, const api::Gang& winner);
  std::string Evict(PassState& pass, const std::vector<PodPtr>& pods);
  bool AllGone(PassState& pass, const NameKey& victim);
  bool TakeHosts(PassState& pass, const NameKey& victim, const api::Gang& winner);
  void ForgetOldVictims(PassState& pass);
  void GiveUpIfInVain(PassState& pass, int job);
  bool Record(PassState& pass, plan::Snapshot& after, int job, const plan::Preemption& decision);
  bool MayDecide(const PassState& pass, const api::Gang& gang) const;
  plan::Snapshot AfterDecisions(PassState& pass);
  const std::vector<api::DisruptionBudget>* Budgets(PassState& pass);

  kube::Client& client_;
  state::WorldCache& cache_;
  Ledger& ledger_;
  const Clock& clock_;
  const Notify notify_;
  const Options options_;
  std::optional<std::vector<api::DisruptionBudget>> budgets_;  // of this pass
  std::int64_t next_try_ms_ = 0;                               // steady time
};

}  // namespace yardmaster::extender
