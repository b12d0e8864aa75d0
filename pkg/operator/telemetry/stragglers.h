// Workers that compute longer than the others of their pipeline stages, by what agents report of
// them (yardmaster.dev/profile), and the Gang's condition Straggling:
//
//   True   SlowWorker   the message names rank, host and how much longer of the worst three, worst
//          first, and what else is known of its GPUs
//   False  Even         none
//   Unknown NotKnown    it was True, and none can be compared any more
//
// A worker is compared with the median of at least kMinReports workers with the same stages and
// GPUs of the same model, so that a host can only speak of itself, and a slower model is not taken
// for a slow host. The time that it computes counts; of workers that report none, the clock of the
// slowest GPU. A report of fewer than kMinSamples iterations is not used.
//
// A CPU limit is a part of the job's own spec. It explains why a worker is slow when it throttles
// that worker in more periods than its like, by at least half of the time that the worker lacks (a
// limit costs at most the periods in which it throttles), and its GPUs have their clock.
//
// Complexity: O(n log n) of the reports. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/condition.h"
#include "pkg/workload/parallelism.h"

namespace yardmaster::op {

inline constexpr std::size_t kMinReports = 4;
inline constexpr std::int64_t kMinSamples = 20;

// What one worker reports.
struct WorkerPace {
  int rank = 0;
  std::string host;
  std::string pod_uid;
  std::int64_t samples = 0;
  std::optional<double> compute_seconds;  // of an iteration: of the last ones, if that is known
  std::optional<double> gpu_clock_mhz;    // of its slowest GPU
  std::int64_t time_ms = 0;               // of its newest iteration; 0: not known
  // Fraction of its CPU periods. nullopt: not known, as of one without a limit.
  std::optional<double> cpu_throttled = {};
  std::string gpu_model = {};  // of its host; empty: not stated
};

struct ComparedWorker {
  WorkerPace pace;
  double times = 1;                   // as long as its like
  std::optional<double> clock_share;  // of the clock of its like
  // Its own CPU limit explains why it is slow; nullopt: not known.
  std::optional<bool> limited = {};
};

// The workers that can be compared, the slowest first. Empty: too few report.
std::vector<ComparedWorker> CompareWorkers(const std::vector<WorkerPace>& paces,
                                           const workload::WorkerGroups& groups);

// What its host has: "1.8 times the compute time of its like, with GPUs at 55 % of their clock", or
// "..., throttled by its own CPU limit".
std::string PaceText(const ComparedWorker& worker);

// A worker straggles at less than `share` of the speed of its like. `before`: the Gang's
// conditions. nullopt: none was compared, and it is not said of one that it straggles.
std::optional<api::Condition> Straggling(const std::vector<ComparedWorker>& compared, double share,
                                         std::int64_t generation,
                                         const std::vector<api::Condition>& before);

}  // namespace yardmaster::op
