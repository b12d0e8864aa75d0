// The step of a pass that deletes Gangs which nothing else deletes. The garbage collector of Kubernetes
// takes a Gang with its owner, but not a Gang without an owner reference, nor one whose owner is of a
// kind that makes no gangs. Such a Gang is deleted after a minute without hosts and without pods, in the
// first case only once its owner is gone. Pods that come later get a Gang of their own.
//
// The minute is counted anew by a new leader: an empty Gang holds nothing. Thread safety: one thread.
// Lifetimes: everything passed in outlives it.
#pragma once

#include <cstdint>
#include <map>

#include "pkg/extender/ledger/ask_times.h"
#include "pkg/extender/steps/pass_step.h"

namespace yardmaster::extender {

class GangCleanup : PassStep {
 public:
  explicit GangCleanup(const StepTools& tools) : PassStep(tools), ask_times_(tools.clock) {}
  // Before Gangs are made.
  void Run(PassState& pass);

 private:
  bool OwnerIsGone(PassState& pass, const api::Gang& gang);
  void Delete(PassState& pass, const NamespacedName& key);

  AskTimes ask_times_;
  std::map<NamespacedName, std::int64_t> empty_since_ms_;  // steady
};

}  // namespace yardmaster::extender
