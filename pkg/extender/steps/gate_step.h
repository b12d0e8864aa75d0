// The step of a pass that bounds how long pods wait behind the gate and gangs hold hosts unused.
//
//   a gated pod that asks for no GPU       is released: it needs no place
//   a gang that waits behind the gate      after `gate_timeout_ms` its pods are released to the
//   for longer than its limit              default scheduler, or failed with the reason
//   a placed gang that does not run in     after `ready_timeout_ms` its pods are evicted, its hosts
//   full within its limit                  are given back, and it queues behind the others
//   a placed gang of which no pod could    after `unbound_timeout_ms` the same
//   be bound within its limit
//
// The limits are the process's options; a gang's first pod may give others by annotation
// (docs/annotations.md). The second can only be made shorter, because it holds hosts, and the third
// is not the gang's.
//
// A pod released without a place carries the annotation yardmaster.dev/released, which says why; it
// is an ordinary pod from then on. Once a gang has run in full (condition Running) its limits as a
// placed one no longer apply: its controller handles later failures of its pods.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

enum class GateTimeoutAction { kRelease, kFail };

class GateStep {
 public:
  struct Options {
    std::int64_t gate_timeout_ms = 0;  // 0: never
    GateTimeoutAction gate_action = GateTimeoutAction::kRelease;
    std::int64_t ready_timeout_ms = 0;          // 0: never
    std::int64_t unbound_timeout_ms = 600'000;  // 0: never
    std::int64_t max_grace_ms = 600'000;        // gather/leaving_pods.h
  };

  explicit GateStep(Options options) : options_(options) {}

  // Before the snapshot, each with a time budget of its own and in fair order.
  static std::vector<Work> ReleaseIdlePods(const PassFacts& facts);
  std::vector<Work> EndWaits(const PassFacts& facts) const;
  std::vector<Work> CheckReady(const PassFacts& facts) const;

 private:
  // What the options and the gang's own annotations say together. Annotations that cannot be read
  // are reported and treated as left out. `gathered`: null, the options.
  Options LimitsOf(const gather::GatheredGang* gathered, std::vector<Effect>& effects) const;
  Decision EndWait(const PassFacts& facts, const gather::GatheredGang& gathered) const;
  Decision CheckReady(const PassFacts& facts, const NamespacedName& key) const;
  Decision Stop(const PassFacts& facts, const GangPtr& gang, const std::string& why) const;

  const Options options_;
};

}  // namespace yardmaster::extender
