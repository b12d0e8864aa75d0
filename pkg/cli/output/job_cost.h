// Computes which hosts a TrainingJob would rent from a set of CapacityPools, and what it pays for
// its present ones, for `cost`, `plan` and `explain`.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/capacity_pool.h"
#include "pkg/api/training_job.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

// Returns one entry of `jobs` in the answer of `cost` (docs/cli-plan.md). Errors: InvalidArgument
// if the gang is larger than the chooser supports.
absl::StatusOr<nlohmann::ordered_json> CostOf(const api::TrainingJob& job,
                                              const std::vector<api::CapacityPool>& pools);

// Returns the pools of a cluster.
std::vector<api::CapacityPool> PoolsOf(const state::ClusterState& cluster);

// Returns labels and texts: what is rented and its rate, what was spent and the caps, and where the
// next hour would run. Empty for a job without caps that has rented nothing.
std::vector<std::pair<std::string, std::string>> ExplainCost(
    const api::TrainingJob& job, const std::vector<api::CapacityPool>& pools);

}  // namespace yardmaster::cli
