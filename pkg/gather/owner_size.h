// Computes how many pods the owner of a gang wants now, by subgroup (api/rank_resolver.h), and the
// ranks that follow.
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

// Pods by subgroup. Its memory is bounded by the length of the text from which it was parsed,
// whatever numbers the text contains.
class OwnerSize {
 public:
  // Sets the pods of a named subgroup; a later number replaces an earlier one.
  void Set(const std::string& subgroup, int pods);
  // Sets the pods of the next `subgroups`, whose names are numbers from 0.
  void Append(int subgroups, int pods);

  // Pods of all subgroups.
  std::int64_t pods() const { return pods_; }
  // Pods of a subgroup; 0 if it does not exist. O(log size).
  int PodsIn(const std::string& subgroup) const;

 private:
  struct Run {
    std::int64_t end;  // one after the number of its last subgroup
    int pods;          // of each
  };
  std::map<std::string, int> named_;
  std::vector<Run> numbered_;
  std::int64_t pods_ = 0;
};

// Returns the size of Jobs, JobSets, MPIJobs, Volcano's jobs, the training operator's jobs,
// RayClusters and a group of a LeaderWorkerSet. nullopt if the object does not state it.
std::optional<OwnerSize> SizeOf(const api::OwnerReference& owner, JsonView object);

struct GangSize {
  int workers = 0;
  std::vector<api::RankBase> rank_bases;
};

// Returns the gang's size if its subgroups, and those in `added`, have that many pods each. Errors:
// FailedPrecondition if a remaining rank would change its number, or beyond 16,384 workers.
// O((bases + added) log).
absl::StatusOr<GangSize> ResizedTo(const std::vector<api::RankBase>& bases, int workers,
                                   const std::vector<std::string>& added, const OwnerSize& pods);

}  // namespace yardmaster::gather
