#include "pkg/operator/telemetry/stragglers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "pkg/api/profile_report.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

constexpr std::size_t kNamed = 3;
// Clocks that are lower by less differ for no reason.
constexpr double kSameClock = 0.9;

using Paces = std::vector<const WorkerPace*>;

// nullopt: too few have it.
std::optional<double> MedianOf(const Paces& alike, std::optional<double> WorkerPace::*field) {
  std::vector<double> values;
  for (const WorkerPace* pace : alike) {
    if (pace->*field) values.push_back(*(pace->*field));
  }
  if (values.size() < kMinReports) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle > 0 ? std::optional(*middle) : std::nullopt;
}

// Of all of them: a worker without a limit is not throttled.
double MedianThrottled(const Paces& alike) {
  std::vector<double> values;
  for (const WorkerPace* pace : alike) values.push_back(pace->cpu_throttled.value_or(0));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::optional<bool> LimitExplains(const ComparedWorker& worker, double usually_throttled) {
  if (worker.times <= 1 || worker.clock_share.value_or(1) < kSameClock) return false;
  if (!worker.pace.cpu_throttled) return std::nullopt;
  const double lacks = 1 - 1 / worker.times;
  return *worker.pace.cpu_throttled - usually_throttled >= lacks / 2;
}

void CompareAlike(const Paces& alike, std::vector<ComparedWorker>& out) {
  const std::optional<double> compute = MedianOf(alike, &WorkerPace::compute_seconds);
  const std::optional<double> clock = MedianOf(alike, &WorkerPace::gpu_clock_mhz);
  const double throttled = MedianThrottled(alike);
  for (const WorkerPace* pace : alike) {
    ComparedWorker worker{*pace, 1, std::nullopt};
    if (clock && pace->gpu_clock_mhz) worker.clock_share = *pace->gpu_clock_mhz / *clock;
    if (compute && pace->compute_seconds) {
      worker.times = *pace->compute_seconds / *compute;
    } else if (!pace->compute_seconds && worker.clock_share) {
      worker.times = 1 / *worker.clock_share;
    } else {
      continue;
    }
    worker.limited = LimitExplains(worker, throttled);
    out.push_back(std::move(worker));
  }
}

}  // namespace

std::vector<ComparedWorker> CompareWorkers(const std::vector<WorkerPace>& paces,
                                           const workload::WorkerGroups& groups) {
  std::map<std::pair<std::vector<int>, std::string>, Paces> by_kind;
  for (const WorkerPace& pace : paces) {
    const auto worker = static_cast<std::size_t>(pace.rank);
    if (worker >= groups.stages_of_worker.size() || pace.samples < kMinSamples) continue;
    by_kind[{groups.stages_of_worker[worker], pace.gpu_model}].push_back(&pace);
  }
  std::vector<ComparedWorker> out;
  for (const auto& [kind, alike] : by_kind) CompareAlike(alike, out);
  std::sort(out.begin(), out.end(), [](const ComparedWorker& a, const ComparedWorker& b) {
    return std::pair(-a.times, a.pace.rank) < std::pair(-b.times, b.pace.rank);
  });
  return out;
}

// Tenths, and steps of five per cent, so that the text is the same while the worker is.
std::string PaceText(const ComparedWorker& worker) {
  std::string clock;
  if (worker.clock_share && *worker.clock_share < kSameClock) {
    clock = StrCat("GPUs at ", static_cast<int>(std::floor(*worker.clock_share * 20)) * 5,
                   " % of their clock");
  }
  if (!worker.pace.compute_seconds) return clock;
  const auto tenths = static_cast<std::int64_t>(std::floor(worker.times * 10));
  return StrCat(tenths / 10, ".", tenths % 10, " times the compute time of its like",
                clock.empty() ? "" : StrCat(", with ", clock),
                worker.limited.value_or(false) ? ", throttled by its own CPU limit" : "");
}

std::optional<api::Condition> Straggling(const std::vector<ComparedWorker>& compared, double share,
                                         std::int64_t generation,
                                         const std::vector<api::Condition>& before) {
  if (compared.empty()) {
    if (!api::IsTrue(before, api::kStragglingCondition)) return std::nullopt;
    return api::Condition{api::kStragglingCondition,
                          api::ConditionStatus::kUnknown,
                          "NotKnown",
                          "too few workers report how long they compute",
                          generation,
                          0};
  }
  std::vector<std::string> parts;
  std::size_t slow = 0;
  for (const ComparedWorker& worker : compared) {
    if (worker.times * share <= 1) break;
    if (++slow > kNamed) continue;
    parts.push_back(
        StrCat("rank ", worker.pace.rank, " on ", worker.pace.host, " has ", PaceText(worker)));
  }
  if (slow == 0) {
    return api::Condition{api::kStragglingCondition,
                          api::ConditionStatus::kFalse,
                          "Even",
                          "no worker computes much longer than the others of its stages",
                          generation,
                          0};
  }
  std::string text = Join(parts, "; ");
  if (slow > kNamed) text += StrCat("; and ", slow - kNamed, " more");
  return api::Condition{api::kStragglingCondition,
                        api::ConditionStatus::kTrue,
                        "SlowWorker",
                        std::move(text),
                        generation,
                        0};
}

}  // namespace yardmaster::op
