// Workers that compute longer than the others of their pipeline stages, by what agents report of
// them (yardmaster.dev/profile): the Gang's condition Straggling.
//
//   True   SlowWorker   the message names rank, host and how much longer of the worst three, worst
//          first
//   False  Even         none
//
// Evidence, not an order: nothing is moved for it. A worker is slow when it computes longer than
// kSlowBy times the median of at least kMinReports workers with the same stages, so that a host can
// only speak of itself. A report of fewer than kMinSamples iterations is not used.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/condition.h"
#include "pkg/workload/parallelism.h"

namespace yardmaster::op {

inline constexpr char kStragglingCondition[] = "Straggling";
inline constexpr std::size_t kMinReports = 4;
inline constexpr std::int64_t kMinSamples = 20;
inline constexpr double kSlowBy = 1.25;

// What one worker reports.
struct WorkerCompute {
  int rank = 0;
  std::string host;
  std::int64_t samples = 0;
  double seconds = 0;  // of compute in an iteration
};

// nullopt: too few workers report.
std::optional<api::Condition> Straggling(const std::vector<WorkerCompute>& reports,
                                         const workload::WorkerGroups& groups,
                                         std::int64_t generation);

}  // namespace yardmaster::op
