// Converts a network plan into the annotations of pods: priority level and source ports of each
// worker, and which annotations have to be written.
//
// If a path plan differs from the one on the pod only in its expiry, it is written only once less
// than half of the life of the old one remains. So a cluster without changes causes few writes.
//
// Determinism: texts depend on the plan alone. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/gang.h"
#include "pkg/api/pod.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/netplan/network_plan.h"

namespace yardmaster::op {

// The network plan of one gang.
struct GangNetwork {
  plan::JobId job;
  std::optional<double> share;  // as in netplan::JobNetwork
  api::NetworkStatus status;
  std::vector<api::PodPathPlan> paths_of_rank;  // by rank; without rails: no plan for that worker
};

struct NetworkOptions {
  std::int64_t fabric_generation = 0;
  std::int64_t now_ms = 0;
  std::int64_t life_ms = 24LL * 3600 * 1000;  // life of a path plan; after it agents use defaults
  fabric::NetworkLevels levels = {};          // traffic class of each level
  std::string fabric_uid = {};
};

// Returns the networks of all placed jobs of the plan that have one. `status.source` is that of the
// job's profile; the caller replaces it if agents' reports were used.
std::vector<GangNetwork> NetworksOf(const netplan::NetworkPlan& plan,
                                    const plan::Snapshot& snapshot, const NetworkOptions& options);

struct PodChange {
  std::map<std::string, std::string> annotations;  // to write; empty: none
  bool renewal = false;                            // only the expiry changes
  std::int64_t expires_ms = 0;                     // expiry of the plan on the pod; 0: it has none
  std::string problem;                             // which part of the plan is omitted, and why
};

// Returns what to write on a worker's pod whose annotations are `present`. Errors: those of
// api::EncodePathPlan.
absl::StatusOr<PodChange> AnnotationsToWrite(const GangNetwork& network, int rank,
                                             const std::map<std::string, std::string>& present,
                                             const NetworkOptions& options);

// For a gated pod: adds the generation of its gang's plan to which the annotations belong
// (api/network_generation.h), unless the pod has it already. The extender may then release the pod.
void AddGenerationAnnotation(const api::Pod& pod, std::int64_t plan_generation, PodChange& change);

}  // namespace yardmaster::op
