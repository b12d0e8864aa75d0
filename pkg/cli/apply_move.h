// Requests one move of a running TrainingJob and waits until it is over, for `kubectl yardmaster
// rebalance --apply`. The operator decides whether the job may move now; the extender decides
// whether its next hosts can be reserved for it.
//
// Thread safety: that of the client.
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
  std::string id;                  // unique for each request
  std::vector<std::string> hosts;  // by rank
};

// Writes progress to `out`. `wait_seconds`: maximum wait; 0: none. Errors: those of the API server;
// FailedPrecondition, with the reason, if the job is not moved; DeadlineExceeded if the move is not
// over in time.
absl::Status ApplyMove(kube::Client& client, const MoveToApply& move, int wait_seconds,
                       const Clock& clock, kube::Sleeper& sleeper, std::ostream& out);

}  // namespace yardmaster::cli
