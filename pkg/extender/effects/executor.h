// Carries out what the steps of a pass decide, and tells them what became of it. It is the only
// part of a pass that talks to the API server, and the only one that lets the facts of the pass
// follow.
//
//   order        that of the step, or fair: namespaces take turns, and the gang at which time ran
//                out in the last pass goes first
//   time         each step has a budget of its own; gangs whose writes failed the last time have as
//                long for themselves, so that writes which take all that time to fail keep no
//                others waiting for ever. What is left is for the next pass, which should follow
//                without a pause
//   pace         costly questions are asked ever less often (owner_query_limiter.h)
//   back-off     nothing is written for a gang that waits after failed writes (gang_backoff.h), or
//                whose last write may still take effect
//   fencing      nothing is written once the hold of the lease under which the pass began has ended
//                (ledger.h)
//   verifier     no plan becomes a promise that it does not agree to
//   isolation    what throws isolates its gang (gang_isolation.h), and the others go on
//   outcome      the facts follow what was written before the next decision is made
//
// Thread safety: one thread calls; effects that do not count on each other are made on several.
// Lifetimes: everything passed in outlives it.
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
    bool fair = false;  // else in the order of the step
  };
  using Step = std::function<std::vector<Work>(const PassFacts&)>;

  Executor(kube::Client& client, state::ClusterCache& cache, Fence fence, Ledger::Options options,
           const Clock& clock, Notify notify);

  // Begins a pass. True: this process leads, and the pass may write.
  bool Begin();
  // What the pass knows. `backing_off`, `isolated`, `indeterminate`, `victims` and `now` are filled
  // here.
  void SetFacts(PassFacts facts);
  // `name` says what the step does to a gang, and tells steps apart in what is remembered of the
  // last pass. Returns how long deciding took, without the writes.
  std::int64_t Run(const std::string& name, const Step& step, Limits limits);
  std::int64_t Run(const std::string& name, const Step& step) { return Run(name, step, {}); }
  // Whether the pass may go on writing.
  bool may_write() const { return ledger_.may_write(); }
  PassReport End();

  const PassFacts& facts() const { return facts_; }
  PassReport& report() { return report_; }
  // Makes the snapshot of the facts. Gangs that make it throw are isolated.
  void TakeSnapshot();
  // After an exception that no gang answers for: nothing derived is kept.
  void Abandon(const std::string& error);

 private:
  // Of a step, from one pass to the next.
  struct Memory {
    NamespacedName first;             // the gang at which time ran out
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
  // kNotTried and kLeft: why a write is not tried. kDone: it may be.
  // `ends_wait`: for pods that wait for no place any more, also those of an isolated gang.
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
  // Of the work under way.
  TimeBudget* budget_ = nullptr;
  std::int64_t deciding_ms_ = 0;
  bool tried_ = false;      // a write
  bool failed_ = false;     // likewise
  bool timed_out_ = false;  // a write was left for the next pass
  Mutex mutex_;             // while effects are made on several threads: the report and those above
};

// A step that is one piece of work, of no gang in particular.
template <typename Decide>
Executor::Step AsOneWork(Decide decide) {
  return [decide](const PassFacts&) { return std::vector<Work>{{{}, decide}}; };
}

}  // namespace yardmaster::extender
