// Has one move of a running TrainingJob made, and waits until it is over: what
// `kubectl yardmaster rebalance --apply` does. The operator decides whether the job may move now,
// and the extender whether its next hosts can be kept for it.
//
// Thread safety: as the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pkg/base/clock.h"
#include "pkg/kube/client.h"
#include "pkg/kube/timing.h"

namespace yardmaster::cli {

struct MoveToApply {
  std::string namespace_name;
  std::string job;
  std::string id;                  // another one for each request
  std::vector<std::string> hosts;  // by rank
};

// Writes how it goes to `out`. Waits at most `wait_seconds`; 0: not at all. Errors: what the API
// server said; FailedPrecondition, with the reason, where the job is not moved; DeadlineExceeded
// where it is not over by then.
absl::Status ApplyMove(kube::Client& client, const MoveToApply& move, int wait_seconds,
                       const Clock& clock, kube::Sleeper& sleeper, std::ostream& out);

}  // namespace yardmaster::cli
