// Eviction of one pod by the API server's eviction call, which respects disruption budgets.
//
// A pod chooses its grace period, up to years, and what waits for it to end waits as long. So a pod that
// is being deleted and has more time than `max_grace_ms` is evicted once more, with that grace; the API
// server takes the shorter one, and asks no budget for a pod that is being deleted.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pkg/api/metadata.h"
#include "pkg/base/namespaced_name.h"
#include "pkg/extender/gather/gather.h"
#include "pkg/kube/client.h"

namespace yardmaster::extender {

enum class EvictWhen {
  kSamePod,      // another pod of that name stays
  kSameVersion,  // so does the pod if it has changed since, for example because it was bound
};

// Errors: NotFound or Aborted when the pod is gone or the precondition does not hold;
// ResourceExhausted when a disruption budget forbids it now; those of the client.
absl::Status EvictPod(kube::Client& client, const api::ObjectMeta& pod, EvictWhen when,
                      std::optional<std::int64_t> grace_ms = std::nullopt);

// Pods on a node that are being deleted and have a minute more than `max_grace_ms` left. None of null.
std::vector<PodPtr> WithMoreGrace(const GatheredGang* gang, std::int64_t now_ms,
                                  std::int64_t max_grace_ms);
// Some pod on a node should have ended for a minute and is still there: its node does not answer, or a
// finalizer holds it.
bool EndsTooLate(const GatheredGang* gang, std::int64_t now_ms);

// What refused evictions of a gang's pods back off under (gang_backoff.h), apart from the gang: its other pods
// are released, and it is planned, meanwhile. No gang has such a name.
inline NamespacedName EvictionsOf(const NamespacedName& gang) {
  return {gang.namespace_name, "evictions of " + gang.name};
}

}  // namespace yardmaster::extender
