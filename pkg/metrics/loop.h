// One loop of a process (base/run_once.h): contains what its runs throw, counts what they did, and
// logs what failed.
//
//   yardmaster_loop_runs_total{loop}       runs
//   yardmaster_loop_failures_total{loop}   objects, or whole runs, that failed
//
// After a run with failures the result says to run again in a second at the latest. Where all of
// them are defects, which will come again, that time doubles with each such run in a row, up to a
// minute.
//
// Thread safety: RunOnce from several threads. Lifetimes: registry and log outlive the loop.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"

#include "pkg/base/mutex.h"
#include "pkg/base/run_once.h"
#include "pkg/metrics/log.h"
#include "pkg/metrics/registry.h"

namespace yardmaster::metrics {

class Loop {
 public:
  Loop(std::string name, Registry& registry, const Logger& log);

  // `object`: what the run is about, where it is about one object alone.
  RunResult RunOnce(absl::FunctionRef<RunResult()> run, const std::string& object = "");

 private:
  const std::string name_;
  const Logger& log_;
  const Counter runs_;
  const Counter failures_;
  Mutex mutex_;
  // After the last run, all of whose failures were defects; 0: it was another one.
  std::int64_t pause_ms_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace yardmaster::metrics
