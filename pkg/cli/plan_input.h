// Prepares the input of `plan` and `top` from what they have read: the pods of other controllers
// become the gangs that the extender would create for them, disruption budgets apply to placed
// gangs, and for a cluster the present state of its network is included.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/cli/input/manifests.h"
#include "pkg/cli/output/plan_report.h"
#include "pkg/gather/incomplete_gang.h"
#include "pkg/netplan/previous_network.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::cli {

// A given workload of another kind whose pods cannot be a gang.
struct RefusedWorkload {
  std::shared_ptr<const WorkloadSource> workload;
  std::string problem;
};

// A gang whose pods all run on given Nodes, if some of these have no place in the fabric, or if
// some ranks have ended. It is neither planned nor moved, and its pods occupy their hosts.
struct GangLeftAlone {
  NamespacedName gang;
  ReportName name;
  std::vector<api::AssignmentEntry> assignments;  // by rank, without stages
  std::string why;
};

// Pods that wait, want a gang and cannot be in one, by the object that creates them.
struct PodsOfNoGang {
  std::string namespace_name;
  ReportName owner;
  std::string problem;  // problem of the first pod
};

struct PlanInput {
  plan::Snapshot snapshot;
  ReportNames names;
  std::vector<RefusedWorkload> refused;
  // Sets of pods that are not a whole gang.
  std::vector<gather::IncompleteGang> incomplete;
  std::vector<PodsOfNoGang> of_no_gang;
  std::vector<GangLeftAlone> left_alone;
  // Elastic TrainingJobs, by their Gang.
  std::map<NamespacedName, std::shared_ptr<const api::TrainingJob>> elastic;
  // Present levels and ports of running jobs; set for a cluster only.
  std::optional<netplan::PreviousNetwork> previous;
  std::vector<fabric::CableId> lossy;  // cables that flows avoid (NetworkInput::lossy)
};

// Returns the input from files only. Input that cannot be used is named on `err`.
PlanInput InputOfFiles(Manifests manifests, std::ostream& err);

// Returns the input from a cluster. Measured profiles are used, and jobs keep levels and ports, as
// in the operator.
PlanInput InputOfCluster(Manifests manifests, std::int64_t now_ms, std::ostream& err);

}  // namespace yardmaster::cli
