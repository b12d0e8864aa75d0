// Eviction of one pod by the API server's eviction call, which respects disruption budgets.
//
// Thread safety: any thread.
#pragma once

#include "absl/status/status.h"

#include "pkg/api/metadata.h"
#include "pkg/kube/client.h"

namespace yardmaster::extender {

enum class EvictWhen {
  kSamePod,      // another pod of that name stays
  kSameVersion,  // so does the pod if it has changed since, for example because it was bound
};

// Errors: NotFound or Aborted when the pod is gone or the precondition does not hold;
// ResourceExhausted when a disruption budget forbids it now; those of the client.
absl::Status EvictPod(kube::Client& client, const api::ObjectMeta& pod, EvictWhen when);

// The pod is not there to be evicted, or is not the one that was meant.
inline bool IsMootEviction(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsAborted(status);
}

}  // namespace yardmaster::extender
