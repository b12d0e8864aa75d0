// Reads any mix of manifests into the objects that planning uses: YAML or JSON, files, directories
// (their .yaml, .yml and .json files, by name) or standard input (-), several documents, lists.
//
// Workloads of other kinds that want a gang are read as the pods that their controllers would make.
// PriorityClasses give these pods and TrainingJobs their priority; a Pod of the manifests keeps its
// own. Kinds that planning does not look at are counted and ignored. Every other surprise is an
// error of the form "file:line: spec.field: what is wrong; how to mend it"; all of them are
// collected.
//
// Thread safety: reads files, else pure.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/capacity_pool.h"
#include "pkg/api/disruption_budget.h"
#include "pkg/cli/input/nic_devices.h"
#include "pkg/cli/input/pod_groups.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

// What the manifests do not say themselves.
struct ManifestDefaults {
  std::string namespace_name = "default";  // of objects that name none
  // PriorityClasses that are there already; those among the manifests count before them.
  std::map<std::string, std::int32_t> priority_classes;
};

// A workload of another kind, and where it was read.
struct WorkloadSource {
  std::string kind;
  NamespacedName key;
  std::string where;
  std::optional<int> pods;  // that its spec asks for in all, where all of them are to be in a gang
  // Its pods state no parallelism, and are read as one data-parallel group.
  bool guessed = false;
};

struct Manifests {
  bool any_object = false;  // of any kind, an empty List included
  state::ClusterState cluster;
  // Where an object was read, by "Kind namespace/name": "jobs.yaml:12".
  std::map<std::string, std::string> origin;
  std::map<std::string, int> ignored;  // kind -> how many
  // Pods that the controllers of other kinds would make (workload_pods.h), apart from those that
  // are there.
  std::vector<std::shared_ptr<const api::Pod>> expected_pods;
  // Of each of them, by its namespace and name.
  std::map<NamespacedName, std::shared_ptr<const WorkloadSource>> workload_of_pod;
  std::vector<api::DisruptionBudget> budgets;
  std::vector<api::CapacityPool> pools;
  std::vector<NicDevice> nics;
  PodGroups pod_groups;
};

// Errors: InvalidArgument or NotFound with one line per error.
absl::StatusOr<Manifests> ReadManifests(const std::vector<std::string>& paths, std::istream& in,
                                        const ManifestDefaults& defaults = {});

}  // namespace yardmaster::cli
