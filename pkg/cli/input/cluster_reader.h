// Reads all objects of a cluster once, for the verbs about a cluster.
//
// Objects that cannot be decoded are left out and named in ClusterState::problems.
//
// Thread safety: that of the client.
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

// ReadCluster reads devices by claims if the cluster has them and the user may list them; they are
// not counted yet (state/device_overlay.h). Errors: those of the client; NotFound if the CRDs are
// not installed, PermissionDenied with the missing right.
enum class OurKinds { kRequired, kMayBeMissing };
absl::StatusOr<state::ClusterState> ReadCluster(kube::Client& client,
                                                OurKinds ours = OurKinds::kRequired);

// Reads only the CapacityPools into `cluster`. Errors: as ReadCluster.
absl::Status ReadPools(kube::Client& client, state::ClusterState& cluster);

// The other objects that decide which gangs may be stopped for which.
struct ClusterPolicies {
  std::vector<api::DisruptionBudget> budgets;
  std::map<std::string, std::int32_t> priority_classes;
};

// Few users may list these. Without the right the policies are empty, and `problems` names the
// missing right. Errors: the other errors of the client.
absl::StatusOr<ClusterPolicies> ReadPolicies(kube::Client& client,
                                             std::vector<std::string>& problems);

}  // namespace yardmaster::cli
