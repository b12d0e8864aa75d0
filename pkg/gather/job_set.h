// The replicated jobs of a JobSet, as its spec says them.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>

#include "pkg/json/json_view.h"

namespace yardmaster::gather {

struct ReplicatedJob {
  JsonView object;
  // Index of its first Job among all Jobs of the set. It is the subgroup of that Job's pods
  // (api/rank_resolver.h).
  std::int64_t first_job = 0;
  std::int64_t jobs = 1;  // from 0 to api::kMaxListedRanks
  bool is_valid = true;   // false: the object has no valid number
};

// In the order of the spec.
void ForEachReplicatedJob(JsonView jobset, const std::function<void(const ReplicatedJob&)>& visit);

}  // namespace yardmaster::gather
