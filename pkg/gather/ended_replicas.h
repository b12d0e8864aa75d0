// Which replicas of a job have ended for good: no pod of them comes again, so a gang is whole
// without them. They are known from pods that are there (gatherer.h), and from the status of the
// objects that made them.
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

// As Membership has it (api/rank_resolver.h).
struct Replica {
  std::string subgroup;
  int index = 0;
  auto operator<=>(const Replica&) const = default;
};

// "0,2-4" as a Job's status has it, ascending. What is not an index from 0 to 16,383 is left out.
std::vector<int> ParseIndexes(std::string_view text);

// Of a Job of batch/v1: indexes that are complete, and those that have failed for good
// (backoffLimitPerIndex). Ascending.
std::vector<int> EndedIndexes(JsonView job);

// Whether a finished pod says that its replica has ended. One that succeeded does; one that failed
// does where its controller makes no other while it is there.
bool SaysEnded(const api::Pod& pod, const api::OwnerReference& owner);

// The Job that makes the pods of a JobSet's subgroup. nullopt: the JobSet has no such Job.
std::optional<std::string> JobOfSubgroup(JsonView jobset, std::string_view subgroup);

}  // namespace yardmaster::gather
