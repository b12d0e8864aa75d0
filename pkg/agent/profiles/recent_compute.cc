#include "pkg/agent/profiles/recent_compute.h"

#include <algorithm>
#include <vector>

namespace yardmaster::agent {

void RecentCompute::Add(std::int64_t steady_ms, std::int64_t iterations, double seconds) {
  reports_.push_back({steady_ms, iterations, seconds});
  iterations_ += iterations;
  while (reports_.size() > 1) {
    const Report& oldest = reports_.front();
    const bool wanted = oldest.steady_ms > steady_ms - kWindowMs ||
                        iterations_ - oldest.iterations < kMinIterations;
    if (wanted && reports_.size() <= kMaxReports) return;
    iterations_ -= oldest.iterations;
    reports_.pop_front();
  }
}

std::optional<double> RecentCompute::Median() const {
  if (iterations_ < kMinIterations) return std::nullopt;
  std::vector<Report> by_seconds(reports_.begin(), reports_.end());
  std::sort(by_seconds.begin(), by_seconds.end(),
            [](const Report& a, const Report& b) { return a.seconds < b.seconds; });
  std::int64_t below = 0;
  for (const Report& report : by_seconds) {
    below += report.iterations;
    if (2 * below >= iterations_) return report.seconds;
  }
  return std::nullopt;
}

}  // namespace yardmaster::agent
