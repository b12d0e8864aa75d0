// The step of a pass that limits how long pods wait behind the gate and how long gangs hold hosts
// that they do not use.
//
//   a gated pod that requests no GPU        is released at once: it needs no place
//   a gang without a place waits longer     its pods are released to kube-scheduler, or failed with
//   than `gate_timeout_ms`                  the reason
//   a placed gang does not run in full      its pods are evicted, its hosts are given back, and it
//   within `ready_timeout_ms`               goes to the end of the queue
//   no pod of a placed gang is bound        the same
//   within `unbound_timeout_ms`
//
// The first pod of a gang can set the first two limits by annotation (docs/annotations.md). It can
// only shorten the ready timeout, because a placed gang holds hosts. It cannot set the unbound
// timeout.
//
// A pod that is released without a place gets the annotation yardmaster.dev/released with the
// reason, and is an ordinary pod from then on. Once a gang has run in full (condition Running), the
// last two limits no longer apply: its controller handles later failures of its pods.
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
    std::int64_t max_grace_ms =
        600'000;  // longest grace period of an evicted pod (gather/leaving_pods.h)
  };

  explicit GateStep(Options options) : options_(options) {}

  // These run before the snapshot. Each has its own time budget and serves the gangs in fair order.
  static std::vector<Work> ReleaseIdlePods(const PassFacts& facts);
  std::vector<Work> EndWaits(const PassFacts& facts) const;
  std::vector<Work> CheckReady(const PassFacts& facts) const;

 private:
  // Returns the options with the gang's annotations applied. An annotation that cannot be parsed is
  // reported and ignored. If `gathered` is null, returns the options.
  Options LimitsOf(const gather::GatheredGang* gathered, std::vector<Effect>& effects) const;
  Decision EndWait(const PassFacts& facts, const gather::GatheredGang& gathered) const;
  Decision CheckReady(const PassFacts& facts, const NamespacedName& key) const;
  Decision Stop(const PassFacts& facts, const GangPtr& gang, const std::string& why) const;

  const Options options_;
};

}  // namespace yardmaster::extender
