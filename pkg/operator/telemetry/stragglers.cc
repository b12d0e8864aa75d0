#include "pkg/operator/telemetry/stragglers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

constexpr std::size_t kNamed = 3;

double MedianOf(const std::vector<WorkerCompute>& reports) {
  std::vector<double> seconds;
  for (const WorkerCompute& report : reports) seconds.push_back(report.seconds);
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace

std::optional<api::Condition> Straggling(const std::vector<WorkerCompute>& reports,
                                         const workload::WorkerGroups& groups,
                                         std::int64_t generation) {
  std::map<std::vector<int>, std::vector<WorkerCompute>> by_stages;
  for (const WorkerCompute& report : reports) {
    const auto worker = static_cast<std::size_t>(report.rank);
    if (worker >= groups.stages_of_worker.size() || report.samples < kMinSamples) continue;
    by_stages[groups.stages_of_worker[worker]].push_back(report);
  }
  bool compared = false;
  std::vector<std::pair<double, WorkerCompute>> slow;
  for (const auto& [stages, alike] : by_stages) {
    if (alike.size() < kMinReports) continue;
    compared = true;
    const double median = MedianOf(alike);
    for (const WorkerCompute& report : alike) {
      if (median > 0 && report.seconds > kSlowBy * median) {
        slow.emplace_back(report.seconds / median, report);
      }
    }
  }
  if (!compared) return std::nullopt;
  if (slow.empty()) {
    return api::Condition{kStragglingCondition,
                          api::ConditionStatus::kFalse,
                          "Even",
                          "no worker computes much longer than the others of its stages",
                          generation,
                          0};
  }
  std::sort(slow.begin(), slow.end(), [](const auto& a, const auto& b) {
    return std::pair(-a.first, a.second.rank) < std::pair(-b.first, b.second.rank);
  });
  std::vector<std::string> parts;
  for (const auto& [ratio, report] : slow) {
    if (parts.size() == kNamed) break;
    // Tenths, so that the text is the same while the worker is.
    const auto tenths = static_cast<std::int64_t>(std::floor(ratio * 10));
    parts.push_back(StrCat("rank ", report.rank, " on ", report.host, " computes ", tenths / 10,
                           ".", tenths % 10, " times as long as its like"));
  }
  std::string text = Join(parts, "; ");
  if (slow.size() > kNamed) text += StrCat("; and ", slow.size() - kNamed, " more");
  return api::Condition{kStragglingCondition, api::ConditionStatus::kTrue,
                        "SlowWorker",         std::move(text),
                        generation,           0};
}

}  // namespace yardmaster::op
