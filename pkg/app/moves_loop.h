// The operator's thread for moves of running jobs (operator/jobs/move_proposals.h): it looks for
// them now and then while this process leads, and asks for one where that is the policy. After a
// look that failed it looks again in a minute, so that failures that go on are an alert. Apart
// from the threads that act on jobs, because a search may take seconds on a large cluster.
//
// Thread safety: Run from one thread. Lifetimes: everything passed in outlives the loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <utility>

#include "pkg/app/leadership.h"
#include "pkg/app/runtime.h"
#include "pkg/base/run_once.h"
#include "pkg/kube/client.h"
#include "pkg/metrics/loop.h"
#include "pkg/operator/jobs/move_proposals.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::app {

class MovesLoop {
 public:
  MovesLoop(kube::Client& client, state::ClusterCache& cache, const Leadership& leadership,
            Runtime& runtime, op::MovePolicyOptions policy, std::int64_t every_ms,
            op::MoveProposals::Listener listener)
      : cache_(cache),
        leadership_(leadership),
        runtime_(runtime),
        every_ms_(every_ms),
        loop_("moves", runtime.registry(), runtime.log()),
        proposals_(runtime.registry(), client, cache, policy, std::move(listener)) {}

  // Returns when `stop` is requested.
  void Run(const std::stop_token& stop) {
    bool ok = true;
    while (runtime_.timing().sleeper.Sleep(ok ? every_ms_ : std::min(every_ms_, kAgainMs), stop)) {
      ok = true;
      if (leadership_.IsLeader()) {
        ok = loop_.RunOnce([&] { return RunOnce(stop); }).ok();
      } else {
        proposals_.Clear();
      }
    }
  }

 private:
  static constexpr std::int64_t kAgainMs = 60'000;

  RunResult RunOnce(const std::stop_token& stop) {
    RunResult result;
    const absl::Status looked =
        Contain([&] { return proposals_.Look(cache_.Take(), runtime_.clock().WallMs(), stop); });
    if (!looked.ok()) proposals_.Clear();
    result.Fail("proposals", looked);
    return result;
  }

  state::ClusterCache& cache_;
  const Leadership& leadership_;
  Runtime& runtime_;
  const std::int64_t every_ms_;
  metrics::Loop loop_;
  op::MoveProposals proposals_;
};

}  // namespace yardmaster::app
