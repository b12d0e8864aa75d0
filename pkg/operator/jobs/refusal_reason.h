// What the API server says of a pod that it does not take, as the reason and the message of the
// job's condition Stalled: of a quota, by how much it is short of all pods of the job, and what
// helps.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "pkg/operator/jobs/stall_reason.h"

namespace yardmaster::op {

// Pods that ask for the same as the refused one.
struct PodsOfTry {
  std::int64_t wanted = 1;
  std::int64_t made = 0;  // of these, before the refusal: a quota counts them
};

// The API server, a policy or a webhook refused to create an object, and would refuse it again for
// now.
bool IsRefusal(const absl::Status& status);

// REQUIRES: IsRefusal(status).
StallReason RefusalReason(const absl::Status& status, const PodsOfTry& pods);

}  // namespace yardmaster::op
