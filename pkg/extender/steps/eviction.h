// Eviction of one pod by the API server's eviction call, which respects disruption budgets.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "pkg/api/metadata.h"
#include "pkg/base/namespaced_name.h"
#include "pkg/kube/client.h"

namespace yardmaster::extender {

enum class EvictWhen {
  kSamePod,      // another pod of that name stays
  kSameVersion,  // so does the pod if it has changed since, for example because it was bound
};

// Errors: NotFound or Aborted when the pod is gone or the precondition does not hold;
// ResourceExhausted when a disruption budget forbids it now; those of the client.
absl::Status EvictPod(kube::Client& client, const api::ObjectMeta& pod, EvictWhen when);

// What refused evictions of a gang's pods back off under (gang_backoff.h), apart from the gang: its other pods
// are released, and it is planned, meanwhile. No gang has such a name.
inline NamespacedName EvictionsOf(const NamespacedName& gang) {
  return {gang.namespace_name, "evictions of " + gang.name};
}

}  // namespace yardmaster::extender
