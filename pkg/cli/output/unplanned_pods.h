// Pods of a job of another kind that has no Gang: whose they are, what they do, and what would make
// them a gang. Pure. Thread safety: pure functions.
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
  // "Waiting": they ask for a gang, whose Gang does not exist yet. "NotPlanned": they do not ask
  // for one.
  std::string state;
  std::string pods;            // "4: 3 Running, 1 Pending"
  std::string why;             // and what to do
  std::string kube_scheduler;  // why it does not place one of them; empty: it does
};

// Of the owner of that name: the controller of the pods, or what their labels name. Finished pods
// do not count. nullopt: there are none.
std::optional<UnplannedPods> FindUnplannedPods(const state::ClusterState& cluster,
                                               const std::string& namespace_name,
                                               const std::string& job);
// The names by which some pods of the namespace can be found.
std::vector<std::string> OwnersOfPods(const state::ClusterState& cluster,
                                      const std::string& namespace_name);

}  // namespace yardmaster::cli
