// Caches the last plan of the queue while its input is unchanged. Most changes in a cluster do not
// change that input: a pod that starts, a status, a heartbeat.
//
// Complexity: a comparison of two snapshots, O(hosts + jobs + ranks). Thread safety: one thread.
#pragma once

#include "pkg/plan/planner.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

class PlanMemo {
 public:
  // Returns the cached plan if MakePlan would return it for `snapshot`, too; else null. Valid until
  // the next Store. REQUIRES: all plans are made with the same options and without StopOthers. Not
  // compared are inputs that only preemption reads (budgets, grace periods) or that only texts name
  // (ordinary pods, whether a placed job runs).
  const Plan* Find(const Snapshot& snapshot) const;
  void Store(const Snapshot& snapshot, Plan plan);
  // REQUIRES: Store was called.
  const Plan* Last() const { return &plan_; }

 private:
  Snapshot snapshot_;
  Plan plan_;
  bool kept_ = false;
};

}  // namespace yardmaster::plan
