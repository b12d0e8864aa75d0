// Finds the replicas of a job that have ended for good: no pod of them will be created again, so a
// gang is complete without them. They are known from existing pods (gatherer.h), and from the
// status of the objects that created them.
//
// Thread safety: pure functions.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/metadata.h"
#include "pkg/api/pod.h"
#include "pkg/json/json_view.h"

namespace yardmaster::gather {

// A replica by its Membership (api/rank_resolver.h).
struct Replica {
  std::string subgroup;
  int index = 0;
  auto operator<=>(const Replica&) const = default;
};

// Parses indexes such as "0,2-4" of a Job's status; ascending. Ignores what is not an index from 0
// to 16,383.
std::vector<int> ParseIndexes(std::string_view text);

// Returns the indexes of a batch/v1 Job that are complete or have failed for good
// (backoffLimitPerIndex), ascending.
std::vector<int> EndedIndexes(JsonView job);

// True if a finished pod means that its replica has ended: it succeeded, or it failed and its
// controller creates no other pod while it exists.
bool SaysEnded(const api::Pod& pod, const api::OwnerReference& owner);

// Returns the name of the Job that creates the pods of a JobSet's subgroup. nullopt: the JobSet has
// no such Job.
std::optional<std::string> JobOfSubgroup(JsonView jobset, std::string_view subgroup);

}  // namespace yardmaster::gather
