// What `plan` and `top` plan, out of what they have read: other controllers' pods become the gangs
// that the extender would make of them, disruption budgets cover the placed gangs, and of a cluster
// also what holds on its network now.
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

// A given workload of another kind whose pods cannot be a gang as it stands.
struct RefusedWorkload {
  std::shared_ptr<const WorkloadSource> workload;
  std::string problem;
};

// A gang whose pods all run on given Nodes, of which some have no place in the fabric, or of which
// some ranks have ended: it is neither planned nor moved, and its pods occupy their hosts.
struct GangLeftAlone {
  NamespacedName gang;
  ReportName name;
  std::vector<api::AssignmentEntry> assignments;  // by rank, without stages
  std::string why;
};

// Pods that wait, want a gang and can be in none, by the object that makes them.
struct PodsOfNoGang {
  std::string namespace_name;
  ReportName owner;
  std::string problem;  // of the first of them
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
  // Levels and ports that running jobs have; only of a cluster.
  std::optional<netplan::PreviousNetwork> previous;
  std::vector<fabric::CableId> lossy;  // that flows avoid (NetworkInput::lossy)
};

// Of files alone. What could not be used is said on `err`.
PlanInput InputOfFiles(Manifests manifests, std::ostream& err);

// Of a cluster: measured profiles count, and jobs keep levels and ports as in the operator.
PlanInput InputOfCluster(Manifests manifests, std::int64_t now_ms, std::ostream& err);

}  // namespace yardmaster::cli
