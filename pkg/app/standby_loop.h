// The operator's thread for standbys (operator/standby/standby_controller.h): a round every few
// seconds while this process leads. Apart from the threads that act on jobs, which wait for
// nothing here.
//
// Thread safety: Run from one thread. Lifetimes: everything passed in outlives the loop.
#pragma once

#include <cstdint>
#include <stop_token>
#include <utility>

#include "pkg/app/leadership.h"
#include "pkg/app/runtime.h"
#include "pkg/metrics/loop.h"
#include "pkg/operator/standby/standby_controller.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::app {

class StandbyLoop {
 public:
  StandbyLoop(kube::Client& client, state::ClusterCache& cache, const Leadership& leadership,
              Runtime& runtime, op::StandbyController::Notify notify)
      : leadership_(leadership),
        runtime_(runtime),
        loop_("standbys", runtime.registry(), runtime.log()),
        standbys_(client, cache, runtime.clock(), std::move(notify),
                  [this] { return leadership_.IsLeader(); }) {}

  // Returns when `stop` is requested.
  void Run(const std::stop_token& stop) {
    while (runtime_.timing().sleeper.Sleep(kEveryMs, stop)) {
      if (leadership_.IsLeader()) {
        loop_.RunOnce([&] { return standbys_.RunOnce(); });
      } else {
        standbys_.Forget();
      }
    }
  }

 private:
  static constexpr std::int64_t kEveryMs = 5'000;

  const Leadership& leadership_;
  Runtime& runtime_;
  metrics::Loop loop_;
  op::StandbyController standbys_;
};

}  // namespace yardmaster::app
