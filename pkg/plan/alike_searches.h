// What a plan found for jobs of the queue that it placed nowhere, kept for the jobs behind them: a
// long queue is many jobs that ask for the same.
//
// Problem: a search that finds nothing costs the most, with its reasons and relaxations. Two jobs
// ask for the same if they are equal but for name, uid and age, with the same hosts that each may
// use. As long as no job takes hosts and none are kept for one, the search has the same input for
// both and gives the same answer. Jobs for which hosts were kept before the plan began are never
// alike: only they may use them.
//
// Complexity: O(kMost) comparisons of jobs a look. Determinism: the plan is the one that is made
// without it. Thread safety: one thread. Lifetimes: the snapshot outlives it.
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
  static constexpr std::size_t kMost = 16;  // the newest

  // O(hosts).
  explicit AlikeSearches(const Snapshot& snapshot);

  // What was stored of a job that asks for the same; null: nothing. Valid until the next call of
  // Store or Changed.
  const placement::GangPlan* Find(JobId job) const;
  // The job was placed nowhere, for these reasons.
  void Store(JobId job, const placement::GangPlan& gang);
  // A job has taken hosts, or some are kept for one.
  void Changed() { searches_.clear(); }

 private:
  struct Search {
    JobId of;
    workload::Job job;  // without what it is called and how old it is
    placement::GangPlan gang;
  };

  const Snapshot& snapshot_;
  std::set<std::int32_t> keep_hosts_;  // jobs for which hosts were kept
  std::deque<Search> searches_;        // newest first
};

}  // namespace yardmaster::plan
