// Finds workers that compute longer than the others of their pipeline stages, from the reports of
// the agents (yardmaster.dev/profile), and computes the Gang's condition Straggling:
//
//   True     SlowWorker  the message names the three slowest workers: rank, host, factor, GPU clock
//   False    Even        no worker is slow
//   Unknown  NotKnown    it was True, and no workers can be compared now
//
//   - A worker's peers are the workers with the same pipeline stages and GPUs of the same model. It
//     is compared with their median if at least kMinReports of them report, so one host can hardly
//     change the result of others. A slower GPU model is not taken for a slow host.
//   - The compute time of an iteration is compared; for workers that do not report it, the clock of
//     the slowest GPU.
//   - A report of fewer than kMinSamples iterations is ignored.
//   - A CPU limit, which is part of the job's own spec, explains a slow worker if it throttles the
//     worker in more periods than its peers, by at least half of the time that the worker loses,
//     and if its GPUs have their normal clock.
//
// Complexity: O(n log n) for n reports. Thread safety: pure functions.
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
  std::optional<double> compute_seconds;  // per iteration; of the latest ones, if reported
  std::optional<double> gpu_clock_mhz;    // slowest GPU
  std::int64_t time_ms = 0;               // of the newest iteration; 0: not reported
  // Fraction of the CPU periods in which it was throttled. nullopt: not reported, or no limit.
  std::optional<double> cpu_throttled = {};
  std::string gpu_model = {};  // of the host; empty: not stated
};

struct ComparedWorker {
  WorkerPace pace;
  double times = 1;                   // compute time divided by that of its peers
  std::optional<double> clock_share;  // GPU clock divided by that of its peers
  // The job's CPU limit explains why it is slow; nullopt: not known.
  std::optional<bool> limited = {};
};

// Returns the workers that can be compared, the slowest first. Empty: too few report.
std::vector<ComparedWorker> CompareWorkers(const std::vector<WorkerPace>& paces,
                                           const workload::WorkerGroups& groups);

// Describes the pace: "1.8 times the compute time of its like, with GPUs at 55 % of their clock",
// or "..., throttled by its own CPU limit".
std::string PaceText(const ComparedWorker& worker);

// A worker straggles if its speed is below `share` of that of its peers. `before`: the Gang's
// conditions. Returns nullopt if no worker was compared and the condition is not True.
std::optional<api::Condition> Straggling(const std::vector<ComparedWorker>& compared, double share,
                                         std::int64_t generation,
                                         const std::vector<api::Condition>& before);

}  // namespace yardmaster::op
