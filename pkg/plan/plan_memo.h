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
  // The plan of a snapshot from which MakePlan makes the same one, for options that do not change;
  // null: there is none. Valid until the next Keep.
  const Plan* Find(const Snapshot& snapshot) const;
  void Keep(const Snapshot& snapshot, Plan plan);
  // REQUIRES: Keep was called.
  const Plan* Last() const { return &plan_; }

 private:
  Snapshot snapshot_;
  Plan plan_;
  bool kept_ = false;
};

}  // namespace yardmaster::plan
