// Whether the ResourceQuotas of a namespace leave room for all pods of a job, before hosts are
// promised to it: a namespace that is full holds none.
//
// Only what is known counts: quotas without scopes that have been counted, of pods and of what they
// request. What a quota of another kind refuses is refused when the pods are made.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

#include "pkg/api/pod.h"
#include "pkg/kube/object.h"

namespace yardmaster::op {

// What the API server would say of the first pod that is too many, of `pods` pods like `pod`, with
// the amounts before any of them is made (refusal_reason.h); OK: nothing.
absl::Status CheckQuotas(const std::vector<kube::ObjectPtr>& quotas, const api::Pod& pod,
                         std::int64_t pods);

}  // namespace yardmaster::op
