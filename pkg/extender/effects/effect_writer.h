// EffectWriter carries out the effects on pods and Nodes (effect.h) and stores the answers in the
// cluster cache.
//
// A write is sent only while `may_write` returns true. Errors:
//
//   Cancelled           `may_write` returned false
//   NotFound, Aborted   the object is deleted, was replaced or has changed
//   Internal            the write threw an exception
//   others              as the client returned them
//
// Thread safety: any thread. Lifetimes: everything passed in outlives the writer.
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
  // Errors: ResourceExhausted if a PodDisruptionBudget forbids the eviction now.
  //
  // If the pod has no node, before the eviction and after it, the writer also removes the finalizer
  // by which the Job controller counts pods, so that the Job does not count a pod that never ran as
  // failed. The Job controller does the same for pods that it no longer needs. It syncs a Job one
  // second after its pods changed, finds the pod deleted and creates another. If the finalizer is
  // removed too late, the Job counts one failure.
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
