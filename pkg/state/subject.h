// Jobs under the names people know them by: a TrainingJob, its Gang, or both as one.
//
// Thread safety: pure functions. Lifetimes: a Subject points into the ClusterState it came from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/state/cluster_state.h"

namespace yardmaster::state {

struct Subject {
  std::string namespace_name;
  std::string kind;                       // of the owner of the pods
  std::string name;                       // of the owner of the pods
  const api::TrainingJob* job = nullptr;  // null for other kinds
  const api::Gang* gang = nullptr;        // null while there is none

  NamespacedName key() const;
  // What the gang asks for; without one, what the TrainingJob asks for.
  const api::JobSpec& spec() const { return gang != nullptr ? gang->job : job->job; }
};

// One per gang and one per TrainingJob without a gang, by namespace, name and kind.
// O(n log n) in the objects.
std::vector<Subject> SubjectsOf(const ClusterState& cluster);

// "Failed", "Succeeded", "Suspended", "Running", "Pending", "Finished", "Placed", "Resizing",
// "Never" or "Waiting".
// "Resizing": the gang has hosts, and its owner wants more or fewer workers than have one.
std::string StateOf(const Subject& subject);

// Workers of a committed gang by "fabric pod/segment".
std::map<std::string, int> SegmentsOf(const api::Gang& gang);

}  // namespace yardmaster::state
