// LeaderLoop is a thread of the operator that runs a function at intervals while this process
// leads. It is separate from the threads that reconcile jobs, which never wait for it. After a
// failed run the next one follows within a minute, so that persistent failures raise an alert.
//
// Thread safety: Run from one thread. Lifetimes: everything passed in outlives the loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>

#include "pkg/app/leadership.h"
#include "pkg/app/runtime.h"
#include "pkg/base/run_once.h"
#include "pkg/metrics/loop.h"

namespace yardmaster::app {

class LeaderLoop {
 public:
  // `forget`: called instead of `run` while this process does not lead.
  LeaderLoop(std::string name, std::int64_t every_ms, const Leadership& leadership,
             Runtime& runtime, std::function<RunResult(const std::stop_token&)> run,
             std::function<void()> forget)
      : every_ms_(every_ms),
        leadership_(leadership),
        runtime_(runtime),
        loop_(std::move(name), runtime.registry(), runtime.log()),
        run_(std::move(run)),
        forget_(std::move(forget)) {}

  // Returns when `stop` is requested.
  void Run(const std::stop_token& stop) {
    bool ok = true;
    while (runtime_.timing().sleeper.Sleep(ok ? every_ms_ : std::min(every_ms_, kAgainMs), stop)) {
      ok = true;
      if (leadership_.IsLeader()) {
        ok = loop_.RunOnce([&] { return run_(stop); }).ok();
      } else {
        forget_();
      }
    }
  }

 private:
  static constexpr std::int64_t kAgainMs = 60'000;

  const std::int64_t every_ms_;
  const Leadership& leadership_;
  Runtime& runtime_;
  metrics::Loop loop_;
  const std::function<RunResult(const std::stop_token&)> run_;
  const std::function<void()> forget_;
};

}  // namespace yardmaster::app
