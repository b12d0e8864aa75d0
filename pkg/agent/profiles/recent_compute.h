// Measures how long a worker computes at present: the median over its iterations of the last half
// minute. profile_collector.h has the usual value, a mean over hundreds of iterations. A
// checkpoint, an evaluation or a pause of the garbage collector is one iteration of many and does
// not change the median.
//
// The window covers the last kWindowMs, and more if that has fewer than kMinIterations iterations;
// never more than kMaxReports reports.
//
// Complexity: Add O(1) amortised, Median O(n log n) in the reports held. Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace yardmaster::agent {

class RecentCompute {
 public:
  static constexpr std::int64_t kWindowMs = 30'000;
  static constexpr std::int64_t kMinIterations = 5;
  static constexpr std::size_t kMaxReports = 256;

  // Adds a report of `iterations` iterations with this mean. REQUIRES: times do not decrease.
  void Add(std::int64_t steady_ms, std::int64_t iterations, double seconds);
  // nullopt: fewer than kMinIterations iterations were reported.
  std::optional<double> Median() const;

 private:
  struct Report {
    std::int64_t steady_ms = 0;
    std::int64_t iterations = 0;
    double seconds = 0;
  };

  std::deque<Report> reports_;
  std::int64_t iterations_ = 0;  // of those held
};

}  // namespace yardmaster::agent
