// Caches the failed searches of a plan for later jobs of the queue with the same requests. A long
// queue contains many such jobs, and a search that finds nothing costs the most, because it
// computes reasons and relaxations.
//
// Two jobs have the same requests if they are equal except for name, uid and age, and may use the
// same hosts. While no job takes hosts and none are kept for one, the search has the same input for
// both and gives the same result. A job for which hosts were kept before the plan began matches no
// other job, because only it may use them.
//
// Complexity: O(kMost) comparisons of jobs per Find. Determinism: the plan is the one that would be
// made without the cache. Thread safety: one thread. Lifetimes: the snapshot outlives the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>

#include "pkg/placement/outcome.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

class AlikeSearches {
 public:
  static constexpr std::size_t kMost = 16;  // entries; the newest are kept

  // O(hosts).
  explicit AlikeSearches(const Snapshot& snapshot);

  // Returns the result for a job with the same requests; null: none. Valid until the next call of
  // Store or Changed.
  const placement::GangPlan* Find(JobId job) const;
  // Stores the result of a job that was placed nowhere.
  void Store(JobId job, const placement::GangPlan& gang);
  // Clears the cache: a job has taken hosts, or some are kept for one.
  void Changed() { searches_.clear(); }

 private:
  struct Search {
    JobId of;
    workload::Job job;  // without name, uid and age
    placement::GangPlan gang;
  };

  const Snapshot& snapshot_;
  std::set<std::int32_t> keep_hosts_;  // jobs for which hosts were kept
  std::deque<Search> searches_;        // newest first
};

}  // namespace yardmaster::plan
