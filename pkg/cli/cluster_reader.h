// The whole world of a cluster, read once: what the online verbs look at.
//
// Objects that cannot be decoded are named in World::problems and left out. Thread safety: as the
// client.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/disruption_budget.h"
#include "pkg/kube/client.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

// Errors: the client's; NotFound says that the CRDs are not installed, PermissionDenied which right
// is missing.
absl::StatusOr<state::ClusterState> ReadCluster(kube::Client& client);

// What else says who may be stopped for whom.
struct ClusterPolicies {
  std::vector<api::DisruptionBudget> budgets;
  std::map<std::string, std::int32_t> priority_classes;
};

// Few people may list these: without the right they count as not there, and `problems` says so.
// Errors: the client's other ones.
absl::StatusOr<ClusterPolicies> ReadPolicies(kube::Client& client,
                                             std::vector<std::string>& problems);

}  // namespace yardmaster::cli
