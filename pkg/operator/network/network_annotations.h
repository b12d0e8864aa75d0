// From a network plan to what stands on pods: level and source ports per worker, as annotation
// texts, and which of them have to be written. Pure.
//
// A path plan that differs from the one on the pod only in its expiry is left alone until less than
// half of its life remains, so that a calm cluster sees no writes.
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

// What the workers of one gang should carry.
struct GangNetwork {
  plan::JobId job;
  std::optional<double> share;  // as in netplan::JobNetwork
  api::NetworkStatus status;
  std::vector<api::PodPathPlan> paths_of_rank;  // by rank; no rails: no plan for that worker
};

struct NetworkOptions {
  std::int64_t fabric_generation = 0;
  std::int64_t now_ms = 0;
  std::int64_t life_ms = 24LL * 3600 * 1000;  // of a path plan; agents then fall back to defaults
  fabric::NetworkLevels levels = {};          // which traffic class a level has
  std::string fabric_uid = {};
};

// For every placed job of the plan that has network numbers. `status.source` follows from the job's
// profile alone; the caller replaces it where agents' reports were used.
std::vector<GangNetwork> NetworksOf(const netplan::NetworkPlan& plan,
                                    const plan::Snapshot& snapshot, const NetworkOptions& options);

struct PodChange {
  std::map<std::string, std::string> annotations;  // to write; empty: nothing to do
  bool renewal = false;                            // nothing new in them but the expiry
  std::int64_t expires_ms = 0;                     // of the plan that stands on the pod; 0: none
  std::string problem;                             // what of the plan is left out, and why
};

// What to write on a worker's pod that carries `present`. Errors: as api::EncodePathPlan.
absl::StatusOr<PodChange> AnnotationsToWrite(const GangNetwork& network, int rank,
                                             const std::map<std::string, std::string>& present,
                                             const NetworkOptions& options);

// For a pod behind the gate: adds the plan generation of its gang that the annotations are for
// (api/network_generation.h), unless the pod has it already. The extender then releases the pod.
void AddGenerationAnnotation(const api::Pod& pod, std::int64_t plan_generation, PodChange& change);

}  // namespace yardmaster::op
