// Guards all jobs against starvation: a job that gets too small a share of the network for too long
// is raised by one priority level for a while (crux/starvation.h has the rule). The share of a
// job's ideal rate is measured if its iterations are; otherwise it is the planner's prediction,
// which is pessimistic.
//
// Thread safety: one thread. Determinism: a function of all earlier calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pkg/crux/starvation.h"
#include "pkg/workload/job.h"

namespace yardmaster::op {

struct StarvationView {
  NamespacedName job;
  int planned_level = 0;
  std::optional<double> share;
};

struct StarvationVerdict {
  std::map<NamespacedName, int> lifted;  // by job: the level that replaces the planned one
  std::vector<NamespacedName> begun;     // lifted, or lifted to another level, in this call
  std::vector<NamespacedName> ended;
  int starving = 0;
  std::int64_t next_change_ms = -1;  // steady clock; -1: time alone changes nothing
};

class StarvationWatch {
 public:
  explicit StarvationWatch(crux::StarvationOptions options) : options_(options) {}

  // Updates the state of all jobs of the round. Jobs that are absent are forgotten. `usable`: the
  // levels in use. `now_ms`: steady clock.
  StarvationVerdict Look(const std::vector<StarvationView>& jobs, const std::vector<int>& usable,
                         std::int64_t now_ms);
  void Forget() { states_.clear(); }

 private:
  const crux::StarvationOptions options_;
  std::map<NamespacedName, crux::StarvationState> states_;
};

}  // namespace yardmaster::op
