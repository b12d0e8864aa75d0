// Translates the error by which the API server refuses a pod into reason and message of the job's
// condition Stalled. For a quota the message says how much is missing for all pods of the job, and
// what helps.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "pkg/operator/jobs/stall_reason.h"

namespace yardmaster::op {

// The pods with the same requests as the refused one.
struct PodsOfTry {
  std::int64_t wanted = 1;
  std::int64_t made = 0;  // created before the refusal: the quota counts them already
};

// True if the API server, a policy or a webhook refused to create an object, and would refuse it
// again now.
bool IsRefusal(const absl::Status& status);

// REQUIRES: IsRefusal(status).
StallReason RefusalReason(const absl::Status& status, const PodsOfTry& pods);

}  // namespace yardmaster::op
