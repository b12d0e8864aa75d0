// How many pods the object behind a gang wants now, subgroup by subgroup (api/rank_resolver.h), and the
// ranks that follow from it.
//
// Thread safety: pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/gang.h"

namespace yardmaster::extender {

// Pods by subgroup, for Jobs, JobSets, MPIJobs, Volcano's jobs, the training operator's jobs and a group
// of a LeaderWorkerSet. nullopt when the object does not say.
std::optional<std::map<std::string, int>> PodsBySubgroup(const api::OwnerReference& owner,
                                                         const nlohmann::json& object);

struct GangSize {
  int workers = 0;
  std::vector<api::RankBase> rank_bases;
};

// The gang's size when its subgroups, and those in `added`, have that many pods each. Errors:
// FailedPrecondition when a rank that stays would become another one, or beyond 16,384 workers.
absl::StatusOr<GangSize> ResizedTo(const std::vector<api::RankBase>& bases, int workers,
                                   const std::vector<std::string>& added,
                                   const std::map<std::string, int>& pods);

}  // namespace yardmaster::extender
