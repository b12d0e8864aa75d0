// The step of a pass that takes over plans that exist already (adoption.h has the conditions):
// those of gangs whose Gang object was deleted under their running pods, and those that another
// controller made (Kueue's topology assignment). A gang with a pod that names its host is never planned
// here: it is observed, for priorities and paths, and follows when a new pod names another host. A plan
// that cannot be taken over is tried again ever less often (ask_times.h), and its job is told why: by an event,
// and, where the gang has no place, by its condition Planned.
//
// Thread safety: one thread. Lifetimes: everything passed in outlives it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/extender/ledger/ask_times.h"
#include "pkg/extender/steps/adoption.h"
#include "pkg/extender/steps/pass_step.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

class AdoptionStep : PassStep {
 public:
  explicit AdoptionStep(const StepTools& tools) : PassStep(tools), try_times_(tools.clock) {}
  // Before the snapshot.
  void Run(PassState& pass);

 private:
  void TakeRunning(PassState& pass, const NamespacedName& key);
  void Observe(PassState& pass, const NamespacedName& key, const HostnameIndex& nodes);
  // The source of a gang's hosts.
  enum class Source { kRunningPods, kOtherController };
  // Adopts the plan if it is the gang's turn.
  void Consider(PassState& pass, const NamespacedName& key, const std::vector<std::string>& hosts,
                Source source);
  // Why the plan cannot be taken over; empty: it was, or its write has failed.
  std::string Adopt(PassState& pass, const NamespacedName& key,
                    const std::vector<std::string>& hosts, Source source);
  // Once for every wording.
  void ReportRefused(PassState& pass, const NamespacedName& key, const std::string& why,
                     Source source);
  // Of `hosts`, one that is promised although no snapshot shows it; empty: none.
  std::string HostHeldBesides(const PassState& pass, const NamespacedName& key,
                              const std::vector<std::string>& hosts) const;
  plan::Snapshot SnapshotWith(const PassState& pass, const api::Gang& placed);

  AskTimes try_times_;                              // each costs a snapshot
  std::map<NamespacedName, std::string> problems_;  // of plans that could not be taken over
  state::SnapshotBuilder builder_;
};

}  // namespace yardmaster::extender
