// From the flags of a verb to a client of the cluster they name. Thread safety: call once, before
// other threads start (it sets the trusted certificates of the process).
#pragma once

#include "absl/status/statusor.h"

#include "pkg/base/clock.h"
#include "pkg/cli/cluster_commands.h"
#include "pkg/kube/timing.h"

namespace yardmaster::cli {

// Clock and sleeper must outlive the connection.
Connector ClusterConnector(const Clock& clock, kube::Sleeper& sleeper);

}  // namespace yardmaster::cli
