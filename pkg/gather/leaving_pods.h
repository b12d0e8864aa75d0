// Limits how long terminating pods may take.
//
// A pod chooses its grace period, up to years, and everything that waits for its end waits as long.
// So a pod that is being deleted and has more than `max_grace_ms` left is evicted again with that
// grace. The API server uses the shorter grace, and checks no disruption budget for a pod that is
// being deleted.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/gather/gather.h"

namespace yardmaster::gather {

// Returns the pods on a node that are being deleted and have at least a minute more than
// `max_grace_ms` left. Empty if `gang` is null.
std::vector<PodPtr> WithMoreGrace(const GatheredGang* gang, std::int64_t now_ms,
                                  std::int64_t max_grace_ms);
// True if some pod on a node is overdue by a minute: its node does not respond, or a finalizer
// holds the pod.
bool EndsTooLate(const GatheredGang* gang, std::int64_t now_ms);

}  // namespace yardmaster::gather
