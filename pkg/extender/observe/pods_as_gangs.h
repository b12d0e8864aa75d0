// A cluster in which the pods of other controllers have the Gangs that the extender would make of
// them, without anything being written: what Observe mode and the command line look at.
//
// A gang whose pods all have a host is placed there. Pods of a numbered kind that say no
// parallelism are taken as one data-parallel group of all their GPUs, and their gang is among
// `guessed`.
//
// Determinism: the ClusterState alone decides. Complexity: O(pods log pods). Thread safety: pure
// functions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pkg/gather/gather.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

// Gives those pods the annotation yardmaster.dev/parallelism that want no gang, are of a kind that
// numbers its pods, and are at least `min_pods`. Returns the gangs they become. Gangs of which some
// pod says its parallelism stay as they are.
std::set<NamespacedName> GuessParallelism(std::size_t min_pods, std::vector<gather::PodPtr>& pods);

// By rank, where all pods of the gang run, or where another controller wants all of them. Empty:
// the gang is to be planned.
std::vector<std::string> HostsOfPods(const gather::GatheredGang& pods, const api::Gang& gang,
                                     const state::ClusterState& cluster);

// The Gang as if its plan said these hosts, by rank; none: as if it had none.
void PlaceOnHosts(const std::vector<std::string>& hosts, api::Gang& gang);

struct PodsAsGangs {
  state::ClusterState cluster;
  std::set<NamespacedName> guessed;
  // Of each gang that has pods, by the Gang's name.
  std::map<NamespacedName, std::vector<NamespacedName>> pods_of;
};

// Gangs that are there stay as they are.
PodsAsGangs WithGangsOfPods(const state::ClusterState& cluster);

}  // namespace yardmaster::extender
