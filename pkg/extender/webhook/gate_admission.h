// The admission webhook that puts pods behind the gate, for API servers that serve no
// MutatingAdmissionPolicy: a v1.AdmissionReview in, one out. It decides as the chart's policy does:
// a pod that is created with the annotation yardmaster.dev/parallelism, has no gate of ours and is
// not bound gets the gate as its last one; every other pod is admitted as it is. No pod is refused.
//
// The answer is a function of the body alone, so it needs no view of the cluster, no leader and no
// caller who proves who it is. Thread safety: a pure function. Complexity: linear in the body.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster::extender {

// Errors: InvalidArgument that names the field when the body is no AdmissionReview with a uid. The
// API server then does what the webhook's failurePolicy says.
absl::StatusOr<std::string> AdmitBehindGate(std::string_view body);

}  // namespace yardmaster::extender
