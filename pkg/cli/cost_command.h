// `kubectl yardmaster cost -f FILE...`: for each TrainingJob of the manifests, the hosts it would rent
// from the CapacityPools below its cost caps, what an hour costs and what share of it interruptions and
// checkpoints are expected to take. Nothing is rented.
//
// CapacityPools are taken from the manifests; without one there, from the cluster.
//
// Answer with -o json: {"jobs": [{"namespace", "name", "feasible", "currency", "pricePerHour",
// "usefulPricePerHour", "lostShare", "interruptionsPerHour", "checkpointIntervalSeconds", "exact",
// "hosts": [{"pool", "type", "hosts"}], "message"}]}. An infeasible job has "message" and, where
// prices alone are in the way, "lowestPricePerHour".
//
// Returns the exit code: 0 answered, also when a job is infeasible; 1 the input is wrong or the
// cluster did not answer; 2 usage. Thread safety: as the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

int RunCostCommand(const std::vector<std::string>& args, const Connector& connect, std::istream& in,
                   std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
