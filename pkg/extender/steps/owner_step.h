// The step of a pass that gives back the hosts of gangs that do not need them: the owner of a gang
// without pods is asked whether they will come again.
//
//   every rank's pod succeeded      finished, nothing is asked
//   the owner has finished or gone  finished
//   the owner is suspended          the hosts are given back; planned anew when it is resumed
//   its pods were released          the hosts are given back; the pods run without a place
//   the owner is active             its pods may come again: the hosts stay the gang's for a while
//   no pod came within that time    the hosts are given back (pods_gone.h), whatever the owner says
//   pods of a finished gang         the gang waits for a place again
//
// A Gang without hosts and without pods that the garbage collector does not take is deleted
// (gang_cleanup.h).
//
// Nothing is given back while a pod of the gang is still on its way out. The owner is read from the
// API server once when the pods have gone and then ever less often; a change of the gang's pods
// starts this anew. Thread safety: one thread. Lifetimes: everything passed in outlives it.
#pragma once

#include <optional>
#include <string>

#include "pkg/extender/gather/owner_state.h"
#include "pkg/extender/ledger/ask_times.h"
#include "pkg/extender/steps/pass_step.h"

namespace yardmaster::extender {

class OwnerStep : PassStep {
 public:
  explicit OwnerStep(const StepTools& tools) : PassStep(tools), ask_times_(tools.clock) {}
  // Before the snapshot.
  void Run(PassState& pass);

 private:
  void RunOne(PassState& pass, const NamespacedName& key);
  // Begins the time for which the gang keeps its hosts without a pod.
  void NotePodsGone(PassState& pass, const NamespacedName& key);
  void NotePodsBack(PassState& pass, const NamespacedName& key);
  // True: it is over, and nothing else is to be done.
  bool EndsWithoutPods(PassState& pass, const NamespacedName& key);
  // nullopt when it is not known now.
  std::optional<OwnerState> Ask(PassState& pass, const api::Gang& gang);

  AskTimes ask_times_;
};

}  // namespace yardmaster::extender
