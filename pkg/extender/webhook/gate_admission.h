// Implements the admission webhook that adds the scheduling gate to pods, for API servers that do
// not serve MutatingAdmissionPolicy. It decides as the chart's policy does:
//
//   - A pod is created with the annotation yardmaster.dev/parallelism, is not bound and does not
//     have the gate: the gate is appended.
//   - Every other pod is admitted unchanged. No pod is rejected.
//
// The answer depends on the request body only. It needs no view of the cluster, no leader and no
// authenticated client.
//
// Thread safety: pure function. Complexity: linear in the body.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster::extender {

// Takes and returns a v1.AdmissionReview. Errors: InvalidArgument, with the field, if the body is
// not an AdmissionReview with a uid. Then the webhook's failurePolicy applies.
absl::StatusOr<std::string> AdmitBehindGate(std::string_view body);

}  // namespace yardmaster::extender
