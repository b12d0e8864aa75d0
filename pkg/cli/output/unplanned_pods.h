// Describes the pods of a job of another kind that has no Gang: their owner, their state, and what
// would make them a gang.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

struct UnplannedPods {
  std::string namespace_name;
  std::string kind;
  std::string name;
  // "Waiting": they want a gang, whose Gang does not exist yet. "NotPlanned": they do not want one.
  std::string state;
  std::string pods;            // "4: 3 Running, 1 Pending"
  std::string why;             // reason, and what to do
  std::string kube_scheduler;  // why it cannot place one of them; empty: it can
};

// Returns the pods of the owner of this name: the controller of the pods, or what their labels
// name. Finished pods are ignored. nullopt: there are none.
std::optional<UnplannedPods> FindUnplannedPods(const state::ClusterState& cluster,
                                               const std::string& namespace_name,
                                               const std::string& job);
// Returns the names of owners of pods in the namespace.
std::vector<std::string> OwnersOfPods(const state::ClusterState& cluster,
                                      const std::string& namespace_name);

}  // namespace yardmaster::cli
