// The starvation guard over all jobs: a job that gets too little of the network for too long is
// lifted a level for a while (crux/starvation.h has the rule). A job's share of its ideal rate is
// measured where its iterations are, else what the planner predicts, which is pessimistic.
//
// Thread safety: none. Determinism: a function of what it was shown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
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
  std::map<NamespacedName, int> lifted;  // job -> the level that holds instead of the planned
  std::vector<NamespacedName> begun;     // lifted (another level) just now
  std::vector<NamespacedName> ended;
  int starving = 0;
  std::int64_t next_change_ms = -1;  // steady; -1: none by time alone
};

class StarvationWatch {
 public:
  explicit StarvationWatch(crux::StarvationOptions options) : options_(options) {}

  // All jobs of the round; those not among them are forgotten.
  StarvationVerdict Look(const std::vector<StarvationView>& jobs, const std::vector<int>& usable,
                         std::int64_t now_ms);
  void Forget() { states_.clear(); }

 private:
  const crux::StarvationOptions options_;
  std::map<NamespacedName, crux::StarvationState> states_;
};

}  // namespace yardmaster::op
