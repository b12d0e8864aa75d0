// How many pods the object behind a gang wants now, subgroup by subgroup (api/rank_resolver.h), and
// the ranks that follow from it.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/gang.h"
#include "pkg/json/json_view.h"

namespace yardmaster::gather {

// Pods by subgroup. What it keeps is bounded by the text that it was read from, whatever numbers
// stand there.
class OwnerSize {
 public:
  // Of one subgroup by its name; a later number replaces a former one.
  void Set(const std::string& subgroup, int pods);
  // Of the next `subgroups`, whose names are numbers from 0.
  void Append(int subgroups, int pods);

  // Of all subgroups together.
  std::int64_t pods() const { return pods_; }
  // 0 where there is no such subgroup. O(log size).
  int PodsIn(const std::string& subgroup) const;

 private:
  struct Run {
    std::int64_t end;  // the number behind its last subgroup
    int pods;          // of each
  };
  std::map<std::string, int> named_;
  std::vector<Run> numbered_;
  std::int64_t pods_ = 0;
};

// Of Jobs, JobSets, MPIJobs, Volcano's jobs, the training operator's jobs, RayClusters and a group
// of a LeaderWorkerSet. nullopt when the object does not say.
std::optional<OwnerSize> SizeOf(const api::OwnerReference& owner, JsonView object);

struct GangSize {
  int workers = 0;
  std::vector<api::RankBase> rank_bases;
};

// The gang's size when its subgroups, and those in `added`, have that many pods each. Errors:
// FailedPrecondition when a rank that stays would become another one, or beyond 16,384 workers.
// O((bases + added) log).
absl::StatusOr<GangSize> ResizedTo(const std::vector<api::RankBase>& bases, int workers,
                                   const std::vector<std::string>& added, const OwnerSize& pods);

}  // namespace yardmaster::gather
