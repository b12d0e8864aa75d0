// Carries out the effects on pods and Nodes (effect.h), and brings what was written into the
// cluster cache.
//
// Every write is made only while `may_write` says so. Errors: those of the client; NotFound or
// Aborted when the object is gone or is another one; Cancelled when nothing may be written any
// more; Internal for an exception, which is the object's fault as far as known.
//
// Thread safety: any thread. Lifetimes: everything passed in outlives it.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pkg/extender/effects/effect.h"
#include "pkg/kube/client.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

class EffectWriter {
 public:
  EffectWriter(kube::Client& client, state::ClusterCache& cache, std::function<bool()> may_write)
      : client_(client), cache_(cache), may_write_(std::move(may_write)) {}

  absl::Status Write(const ReleasePod& effect) const;
  absl::Status Write(const OpenGate& effect) const;
  absl::Status Write(const NumberPod& effect) const;
  absl::Status Write(const MarkSlot& effect) const;
  absl::Status Write(const FailPod& effect) const;
  // ResourceExhausted when a disruption budget forbids it now. A pod that is on no node, as known
  // and as it is read once it is evicted, loses the finalizer by which the Job controller counts
  // pods, too, as that controller removes it itself from pods that it does not need any more: what
  // never ran did not fail. A Job looks at its pods a second after they changed, so it finds the
  // pod gone and makes it again; if this comes too late, or fails, the Job counts one failure.
  absl::Status Write(const EvictPod& effect) const;
  absl::Status Write(const PatchNode& effect) const;

 private:
  absl::StatusOr<nlohmann::json> Send(const ReleasePod& effect) const;
  absl::StatusOr<nlohmann::json> Send(const OpenGate& effect) const;
  void LeaveUncounted(const api::Pod& known) const;
  absl::StatusOr<nlohmann::json> Patch(const kube::Target& target,
                                       const kube::PatchBody& patch) const;

  kube::Client& client_;
  state::ClusterCache& cache_;
  const std::function<bool()> may_write_;
};

}  // namespace yardmaster::extender
