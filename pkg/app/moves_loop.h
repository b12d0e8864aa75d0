// The operator's thread for proposals of moves (operator/jobs/move_proposals.h): it looks for them
// every ten minutes while this process leads, apart from the threads that act, because a search may
// take seconds on a large cluster.
//
// Thread safety: Run from one thread. Lifetimes: everything passed in outlives the loop.
#pragma once

#include <stop_token>

#include "pkg/app/leadership.h"
#include "pkg/app/runtime.h"
#include "pkg/base/run_once.h"
#include "pkg/metrics/loop.h"
#include "pkg/operator/jobs/move_proposals.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::app {

class MovesLoop {
 public:
  MovesLoop(const state::ClusterCache& cache, const Leadership& leadership, Runtime& runtime)
      : cache_(cache),
        leadership_(leadership),
        runtime_(runtime),
        loop_("moves", runtime.registry(), runtime.log()),
        proposals_(runtime.registry()) {}

  // Returns when `stop` is requested.
  void Run(const std::stop_token& stop) {
    while (runtime_.timing().sleeper.Sleep(kEveryMs, stop)) {
      if (leadership_.IsLeader()) {
        loop_.RunOnce([&] { return RunOnce(stop); });
      } else {
        proposals_.Clear();
      }
    }
  }

 private:
  static constexpr std::int64_t kEveryMs = 600'000;

  RunResult RunOnce(const std::stop_token& stop) {
    RunResult result;
    const absl::Status looked =
        Contain([&] { return proposals_.Look(cache_.Take(), runtime_.clock().WallMs(), stop); });
    if (!looked.ok()) proposals_.Clear();
    result.Fail("proposals", looked);
    return result;
  }

  const state::ClusterCache& cache_;
  const Leadership& leadership_;
  Runtime& runtime_;
  metrics::Loop loop_;
  op::MoveProposals proposals_;
};

}  // namespace yardmaster::app
