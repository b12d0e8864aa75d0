// Adds to a cluster state the Gangs that the extender would create for the pods of other
// controllers, without writing them. Observe mode and the command line use it.
//
//   - A gang whose pods all run, or for all of whose pods another controller has chosen hosts, is
//     placed there.
//   - A gang of which some pods have ended, or which runs on hosts whose place is not known, gets
//     no Gang.
//   - Pods that do not state their parallelism, and whose controller numbers them, count as one
//     data-parallel group of all their GPUs. Their gang is in `guessed`.
//
// Determinism: a function of the ClusterState. Complexity: O(pods log pods). Thread safety: pure
// functions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pkg/gather/gather.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

// Adds the annotation yardmaster.dev/parallelism to the pods of gangs of at least `min_pods`
// numbered pods of which none states its parallelism. Returns these gangs.
std::set<NamespacedName> GuessParallelism(std::size_t min_pods, std::vector<gather::PodPtr>& pods);

// Returns the hosts by rank, if all pods of the gang run or another controller has chosen all their
// hosts. Empty: otherwise, or if a pod has ended or the place of a host is not known.
std::vector<std::string> HostsOfPods(const gather::GatheredGang& pods, const api::Gang& gang,
                                     const state::ClusterState& cluster);

// Sets the plan of `gang` to these hosts, by rank. Empty: to none.
void PlaceOnHosts(const std::vector<std::string>& hosts, api::Gang& gang);

struct PodsAsGangs {
  state::ClusterState cluster;
  std::set<NamespacedName> guessed;
  // The pods of each gang, by the Gang's name.
  std::map<NamespacedName, std::vector<NamespacedName>> pods_of;
};

// Existing Gangs are not changed.
PodsAsGangs WithGangsOfPods(const state::ClusterState& cluster);

}  // namespace yardmaster::extender
