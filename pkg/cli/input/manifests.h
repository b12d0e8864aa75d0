// Reads manifests into the objects that planning uses: YAML or JSON, from files, folders (their
// .yaml, .yml and .json files, by name) or standard input (-), with several documents and lists.
//
//   - Workloads of other kinds that want a gang become the pods that their controllers would
//     create.
//   - PriorityClasses give these pods and TrainingJobs their priority. A Pod among the manifests
//     keeps its own.
//   - Kinds that planning does not use are counted and ignored.
//   - Everything else unexpected is an error "file:line: spec.field: what is wrong; how to fix it".
//     All errors are collected.
//
// Thread safety: reads files; otherwise pure functions.
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

// Values that the manifests do not contain.
struct ManifestDefaults {
  std::string namespace_name = "default";  // for objects without a namespace
  // Existing PriorityClasses. Those among the manifests take precedence.
  std::map<std::string, std::int32_t> priority_classes;
};

// A workload of another kind, and its origin.
struct WorkloadSource {
  std::string kind;
  NamespacedName key;
  std::string where;
  std::optional<int> pods;  // total in its spec, if all of them are in a gang
  // Its pods do not state their parallelism and count as one data-parallel group.
  bool guessed = false;
};

struct Manifests {
  bool any_object = false;  // of any kind, an empty List included
  state::ClusterState cluster;
  // Origin of each object, by "Kind namespace/name": "jobs.yaml:12".
  std::map<std::string, std::string> origin;
  std::map<std::string, int> ignored;  // kind -> number
  // Pods that the controllers of other kinds would create (workload_pods.h), in addition to
  // existing ones.
  std::vector<std::shared_ptr<const api::Pod>> expected_pods;
  // The workload of each of these, by the pod's namespace and name.
  std::map<NamespacedName, std::shared_ptr<const WorkloadSource>> workload_of_pod;
  std::vector<api::DisruptionBudget> budgets;
  std::vector<api::CapacityPool> pools;
  std::vector<NicDevice> nics;
  PodGroups pod_groups;
};

// Errors: InvalidArgument or NotFound, with one line per error.
absl::StatusOr<Manifests> ReadManifests(const std::vector<std::string>& paths, std::istream& in,
                                        const ManifestDefaults& defaults = {});

}  // namespace yardmaster::cli
