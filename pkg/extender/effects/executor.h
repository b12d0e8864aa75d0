// Executor carries out the effects that the steps of a pass decide, and passes the outcomes back to
// the steps. Only the executor calls the API server in a pass, and only it updates the facts of the
// pass.
//
//   order        that of the step, or fair: namespaces take turns, and the gang for which time ran
//                out in the last pass comes first
//   time         each step has a time budget. Gangs whose last writes failed have a budget of the
//                same size of their own, so that slow failures do not delay the others. The next
//                pass does the rest, and should follow without a pause
//   reads        costly reads are repeated at growing intervals (owner_query_limiter.h)
//   back-off     no write for a gang that waits after failed writes (gang_backoff.h), or whose last
//                write may still take effect
//   fencing      no write once the hold of the lease under which the pass began has ended (see
//                ledger.h)
//   verifier     no plan is committed that the verifier rejects
//   isolation    an exception isolates its gang (gang_isolation.h); the others continue. No write
//                for an isolated gang, except OpenGate and FailPod
//   outcome      the facts are updated by each write before the next decision
//
// Thread safety: one thread calls; the executor performs independent effects on several threads.
// Lifetimes: everything passed in outlives the executor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/extender/effects/effect.h"
#include "pkg/extender/effects/effect_writer.h"
#include "pkg/extender/effects/gang_isolation.h"
#include "pkg/extender/effects/owner_query_limiter.h"
#include "pkg/extender/effects/time_budget.h"
#include "pkg/extender/ledger/gang_backoff.h"
#include "pkg/extender/ledger/ledger.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

class Executor {
 public:
  struct Limits {
    std::int64_t budget_ms = TimeBudget::kUnlimited;
    bool fair = false;  // false: in the order of the step
  };
  using Step = std::function<std::vector<Work>(const PassFacts&)>;

  Executor(kube::Client& client, state::ClusterCache& cache, Fence fence, Ledger::Options options,
           const Clock& clock, Notify notify);

  // Begins a pass. Returns true if this process leads and the pass may write.
  bool Begin();
  // Sets the facts of the pass. The executor fills in `backing_off`, `isolated`, `indeterminate`,
  // `victims` and `now`.
  void SetFacts(PassFacts facts);
  // Runs a step. `name`: describes the step in messages and identifies it in the state between
  // passes. Returns the time that deciding took, in ms, without writes.
  std::int64_t Run(const std::string& name, const Step& step, Limits limits);
  std::int64_t Run(const std::string& name, const Step& step) { return Run(name, step, {}); }
  // Whether the pass may still write.
  bool may_write() const { return ledger_.may_write(); }
  PassReport End();

  const PassFacts& facts() const { return facts_; }
  PassReport& report() { return report_; }
  // Builds the snapshot from the facts. Gangs for which that throws are isolated.
  void TakeSnapshot();
  // Drops all derived state, after an exception that is not due to one gang.
  void Abandon(const std::string& error);

 private:
  // The state of a step between passes.
  struct Memory {
    NamespacedName first;             // the gang for which time ran out
    std::set<NamespacedName> failed;  // gangs whose writes failed the last time
  };

  void Handle(const std::string& name, const Work& work);
  Decision Decide(const std::function<Decision()>& decide);
  EffectOutcomes Perform(const Decision& decision);
  void PerformApart(const Decision& decision, const std::vector<std::size_t>& effects,
                    EffectOutcomes& outcomes);
  EffectOutcome Do(const Effect& effect);
  EffectOutcome DoWrite(const WriteGangSpec& effect);
  EffectOutcome DoWrite(const CommitGangStatus& effect);
  EffectOutcome DoWrite(const DeleteGang& effect);
  EffectOutcome DoWrite(const CommitPlan& effect);
  EffectOutcome Do(const ReadObject& effect);
  EffectOutcome Do(const ReadPods& effect);
  EffectOutcome Do(const ReadBudgets& effect);
  EffectOutcome Do(const AwaitTurn& effect);
  EffectOutcome Written(const NamespacedName& gang, const Ledger::Written& written);
  EffectOutcome Finish(const Effect& effect, const absl::Status& status);
  // Returns kDone if a write may be tried, else kNotTried or kLeft. `ends_wait`: the write ends the
  // wait of a pod, which is allowed for isolated gangs, too.
  EffectOutcome::Result MayTry(const NamespacedName& gang, bool ends_wait);
  void Learn(Change change) { Apply(std::move(change), facts_); }
  void Isolate(const NamespacedName& gang, const std::string& what, const char* error);
  void UpdateTime() { facts_.now = {clock_.WallMs(), clock_.SteadyMs()}; }

  kube::Client& client_;
  const Clock& clock_;
  const Notify notify_;
  GangBackoff backoff_;
  GangIsolation isolation_;
  Ledger ledger_;
  const EffectWriter writer_;
  state::SnapshotBuilder builder_;
  std::map<Question, OwnerQueryLimiter> limiters_;
  std::map<std::string, Memory> memories_;  // by name of the step

  PassFacts facts_;
  PassReport report_;
  // The work that is performed now.
  TimeBudget* budget_ = nullptr;
  std::int64_t deciding_ms_ = 0;
  bool tried_ = false;      // a write was tried
  bool failed_ = false;     // a write failed
  bool timed_out_ = false;  // a write was left for the next pass
  Mutex mutex_;             // guards the report and the above while effects run on several threads
};

// Makes a step of one piece of work that is not for one gang.
template <typename Decide>
Executor::Step AsOneWork(Decide decide) {
  return [decide](const PassFacts&) { return std::vector<Work>{{{}, decide}}; };
}

}  // namespace yardmaster::extender
