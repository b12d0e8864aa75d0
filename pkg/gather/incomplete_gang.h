// Sets of pods that wait for a gang that is not there yet, or not whole: how many of how many are
// there, which are missing, and what they wait for. The one text of events, conditions, `get`,
// `explain`, `plan` and the page.
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
  kInvalid,       // its pods contradict themselves, and no pod that comes mends that
};
std::string_view Name(Incompleteness cause);  // "Incomplete", "HeldByOthers", "Invalid"

struct IncompleteGang {
  NamespacedName gang;
  api::OwnerReference owner;
  Incompleteness cause = Incompleteness::kPodsMissing;
  int there = 0;              // pods, and replicas that have ended
  std::optional<int> wanted;  // nullopt: nothing says it
  int gpus = 0;               // of the pods that are there
  int priority = 0;           // of its first pod
  std::string text;
};

// What the set waits for. nullopt: it is a whole gang, or has no pod. `gang`: its Gang, or null.
// `job`: the TrainingJob that owns it, or null. `why`: why the missing pods do not come; empty: the
// text says who makes them, and where that one says why it has not.
std::optional<IncompleteGang> IncompletenessOf(const GatheredGang& pods, const api::Gang* gang,
                                               const api::TrainingJob* job,
                                               const DeclaredSizes& declared = {},
                                               std::string_view why = "");

// Of all sets in the cluster that have a pod on no node and no place, by namespace and name.
// O(pods), and reads the labels of those in namespaces that have such a pod.
std::vector<IncompleteGang> IncompleteGangsOf(const state::ClusterState& cluster);

// Ascending numbers as "0-3,7"; the first eight runs, then how many there are in all.
std::string RunsOf(const std::vector<int>& numbers);

}  // namespace yardmaster::gather
