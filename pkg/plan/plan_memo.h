// The last plan of the queue, valid while its input is unchanged. Most changes in a cluster
// do not change that input: a pod that starts, a status, a heartbeat.
//
// Complexity: a comparison of two snapshots, O(hosts + jobs + ranks). Thread safety: one thread.
#pragma once

#include "pkg/plan/planner.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

class PlanMemo {
 public:
  // The kept plan if MakePlan would make it of `snapshot`, too; else null. Valid until the next
  // Store. REQUIRES: all plans are made with the same options, and without StopOthers: what only
  // preemption reads (budgets, grace periods) is not compared, nor what only texts name (ordinary
  // pods, whether a placed job runs).
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
