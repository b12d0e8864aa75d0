// Reads all objects of a cluster once, for the verbs that ask a cluster.
//
// Objects that cannot be decoded are named in ClusterState::problems and left out. Thread safety:
// as the client.
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
// Devices by claims are read where the cluster has them and people may list them, and are not
// counted yet (state/device_overlay.h).
enum class OurKinds { kRequired, kMayBeMissing };
absl::StatusOr<state::ClusterState> ReadCluster(kube::Client& client,
                                                OurKinds ours = OurKinds::kRequired);

// Reads the CapacityPools alone into `cluster`. Errors: as above.
absl::Status ReadPools(kube::Client& client, state::ClusterState& cluster);

// The other objects that decide which gangs may be stopped for which.
struct ClusterPolicies {
  std::vector<api::DisruptionBudget> budgets;
  std::map<std::string, std::int32_t> priority_classes;
};

// Few people have the right to list these. Without it the policies are empty, and `problems` names
// the missing right. Errors: the client's other ones.
absl::StatusOr<ClusterPolicies> ReadPolicies(kube::Client& client,
                                             std::vector<std::string>& problems);

}  // namespace yardmaster::cli
