// Describes sets of pods that are not a complete gang: how many of how many pods exist, which are
// missing, and what they wait for. Events, conditions, the commands `get`, `explain` and `plan`,
// and the web page use this one text.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/gather/gather.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::gather {

enum class Incompleteness {
  kPodsMissing,
  kHeldByOthers,  // gates of other controllers hold pods of it
  kInvalid,       // its pods contradict each other, and no further pod can correct that
};
std::string_view Name(Incompleteness cause);  // "Incomplete", "HeldByOthers", "Invalid"

struct IncompleteGang {
  NamespacedName gang;
  api::OwnerReference owner;
  Incompleteness cause = Incompleteness::kPodsMissing;
  int there = 0;              // existing pods, and replicas that have ended
  std::optional<int> wanted;  // nullopt: not known
  int gpus = 0;               // of the existing pods
  int priority = 0;           // of its first pod
  std::string text;
};

// Returns what the set waits for. nullopt: it is a complete gang, or has no pod. `gang`: its Gang,
// or null. `job`: the TrainingJob that owns it, or null. `why`: why the missing pods do not come;
// if empty, the text names who creates them and where that controller reports errors.
std::optional<IncompleteGang> IncompletenessOf(const GatheredGang& pods, const api::Gang* gang,
                                               const api::TrainingJob* job,
                                               const DeclaredSizes& declared = {},
                                               std::string_view why = "");

// Returns all incomplete sets of the cluster that have an unbound pod and no place, by namespace
// and name. O(pods); reads the labels of pods in namespaces that have such a pod.
std::vector<IncompleteGang> IncompleteGangsOf(const state::ClusterState& cluster);

// Formats ascending numbers as "0-3,7": the first eight runs, then the total number.
std::string RunsOf(const std::vector<int>& numbers);

}  // namespace yardmaster::gather
