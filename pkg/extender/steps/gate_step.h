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
// (docs/annotations.md). The second can only be made shorter, because it holds hosts, and the third is
// not the gang's.
//
// A pod released without a place carries the annotation yardmaster.dev/released, which says why; it
// is an ordinary pod from then on. Each of the three releases, fails or evicts for `slice_ms` of a pass and
// goes on where it stopped in the next one, which should follow without a pause: no number of such pods
// holds up the other gangs. Once a gang has run in full (condition Running) its limits as a placed one
// no longer apply: its controller handles later failures of its pods. Thread safety: one thread.
// Lifetimes: everything passed in outlives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/extender/steps/pass_step.h"

namespace yardmaster::extender {

enum class GateTimeoutAction { kRelease, kFail };

class GateStep : PassStep {
 public:
  struct Options {
    std::int64_t gate_timeout_ms = 0;  // 0: never
    GateTimeoutAction gate_action = GateTimeoutAction::kRelease;
    std::int64_t ready_timeout_ms = 0;  // 0: never
    std::int64_t slice_ms = 250;
    std::int64_t unbound_timeout_ms = 600'000;  // 0: never
    std::int64_t max_grace_ms = 600'000;        // eviction.h
  };

  GateStep(const StepTools& tools, Options options) : PassStep(tools), options_(options) {}
  // Before the snapshot. `idle`: gated pods that ask for no GPU.
  void Run(PassState& pass, const std::vector<PodPtr>& idle);

 private:
  // The time that a part of the step has in a pass.
  class Slice {
   public:
    Slice(const Clock& clock, std::int64_t ms) : clock_(clock), end_ms_(clock.SteadyMs() + ms) {}
    // True: the rest is for the next pass, and `report` says so.
    bool IsOver(PassReport& report) const;

   private:
    const Clock& clock_;
    const std::int64_t end_ms_;
  };

  // What the options and the gang's own annotations say together. Annotations that cannot be read are
  // reported and treated as left out. `gathered`: null, the options.
  Options LimitsOf(PassState& pass, const GatheredGang* gathered) const;
  void ReleaseIdle(PassState& pass, const std::vector<PodPtr>& idle);
  void CheckGates(PassState& pass);
  void EndWaiting(PassState& pass, const GatheredGang& gathered, std::int64_t waited_ms,
                  GateTimeoutAction action, const Slice& slice);
  void CheckReady(PassState& pass);
  void CheckReadyOne(PassState& pass, const NamespacedName& key, const Slice& slice);
  void MarkRunning(PassState& pass, const NamespacedName& key, const Slice& slice);
  void GiveBack(PassState& pass, const NamespacedName& key, const std::string& why);
  // Not OK: it is not released; `pass.report` says why.
  absl::Status Release(PassState& pass, const api::Pod& pod, const std::string& why);
  absl::Status Fail(PassState& pass, const api::Pod& pod, const std::string& why);
  void Evict(PassState& pass, const NamespacedName& gang, const std::vector<PodPtr>& pods,
             const Slice& slice, std::optional<std::int64_t> grace_ms = std::nullopt);
  absl::Status Keep(PassState& pass, const absl::StatusOr<nlohmann::json>& written);

  const Options options_;
  NamespacedName next_;  // the gang that a slice ended before
};

}  // namespace yardmaster::extender
