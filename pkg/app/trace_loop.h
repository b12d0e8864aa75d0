// The operator's thread for traces of jobs, beside those that act: every two seconds it offers what
// is new while this process leads.
//
// Thread safety: Run from one thread. Lifetimes: everything passed in outlives the loop.
#pragma once

#include <cstdint>
#include <stop_token>

#include "pkg/app/leadership.h"
#include "pkg/app/runtime.h"
#include "pkg/app/tracing.h"
#include "pkg/base/run_once.h"
#include "pkg/metrics/loop.h"
#include "pkg/operator/jobs/incident.h"
#include "pkg/state/cluster_state.h"
#include "pkg/trace/start_tracer.h"

namespace yardmaster::app {

class TraceLoop {
 public:
  TraceLoop(Tracing& tracing, const state::ClusterCache& cache, const Leadership& leadership,
            Runtime& runtime)
      : tracing_(tracing),
        cache_(cache),
        leadership_(leadership),
        runtime_(runtime),
        loop_("traces", runtime.registry(), runtime.log()) {}

  // Returns when `stop` is requested. REQUIRES: tracing.on().
  void Run(const std::stop_token& stop) {
    while (runtime_.timing().sleeper.Sleep(kEveryMs, stop)) {
      if (leadership_.IsLeader()) {
        loop_.RunOnce([&] { return RunOnce(); });
      } else {
        tracer_.Forget();
      }
    }
  }

 private:
  static constexpr std::int64_t kEveryMs = 2'000;

  RunResult RunOnce() {
    RunResult result{.done = 1};
    const absl::Status looked =
        Contain([&] { tracing_.Offer(tracer_.Look(cache_.Take(), runtime_.clock().WallMs())); });
    // A look that was not finished has lost changes: the next one is a first one.
    if (!looked.ok()) tracer_.Forget();
    result.Fail("", looked);
    return result;
  }

  Tracing& tracing_;
  const state::ClusterCache& cache_;
  const Leadership& leadership_;
  Runtime& runtime_;
  metrics::Loop loop_;
  trace::StartTracer tracer_{op::NameOf};
};

}  // namespace yardmaster::app
