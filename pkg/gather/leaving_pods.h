// Pods on their way out, and for how long they may take.
//
// A pod chooses its grace period, up to years, and what waits for it to end waits as long. So a pod
// that is being deleted and has more time than `max_grace_ms` is evicted once more, with that
// grace; the API server takes the shorter one, and asks no budget for a pod that is being deleted.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/gather/gather.h"

namespace yardmaster::gather {

// Pods on a node that are being deleted and have a minute more than `max_grace_ms` left. None of
// null.
std::vector<PodPtr> WithMoreGrace(const GatheredGang* gang, std::int64_t now_ms,
                                  std::int64_t max_grace_ms);
// Some pod on a node should have ended for a minute and is still there: its node does not answer,
// or a finalizer holds it.
bool EndsTooLate(const GatheredGang* gang, std::int64_t now_ms);

}  // namespace yardmaster::gather
