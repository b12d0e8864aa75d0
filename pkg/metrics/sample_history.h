// The process's own metrics of the last hour, for /metrics/history. An operator can read them after
// a fault where no Prometheus scraped the process.
//
//   SampleHistory history;
//   history.Add(registry.Text(), clock.WallMs());  // every kHistoryIntervalMs
//   history.Text();                                // OpenMetrics with timestamps
//
// A sample keeps only the series whose value differs from the sample before. Invariants after each
// call: no more samples and series than Limits says, and no more changes unless a single sample is
// left. A sample or a change too many drops the oldest sample; a series too many is left out and
// counted. Thread safety: everything from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/mutex.h"

namespace yardmaster::metrics {

constexpr std::int64_t kHistoryIntervalMs = 30'000;

class SampleHistory {
 public:
  struct Limits {
    std::size_t samples = 121;     // an hour, both ends included
    std::size_t series = 4'096;    // names with labels, of some 100 bytes each
    std::size_t changes = 65'536;  // of 16 bytes each
  };

  SampleHistory() : SampleHistory(Limits()) {}
  explicit SampleHistory(const Limits& limits) : limits_(limits) {}

  // `exposition`: Prometheus text format. Lines that are not samples, and values that are not
  // numbers, are passed over. A time that is not later than the last one is moved to a millisecond
  // after it.
  void Add(std::string_view exposition, std::int64_t wall_ms);

  // Each series' value at every sample where it changes, at the sample before, at the last, and at
  // every eighth, so that Prometheus, which forgets a series after five minutes, sees no gap.
  // Series in order of name, times ascending.
  std::string Text() const;

  // Estimate of the memory held, in bytes: times, names and changes, and what the allocator and the
  // map add.
  std::size_t bytes() const;
  // Series of the last sample that had no room.
  std::size_t left_out_series() const;

 private:
  struct Change {
    std::uint32_t sample;  // its number since the start
    double value;          // NaN: the series was not there
  };
  struct Series {
    std::vector<Change> changes;    // ascending; never empty
    std::uint32_t last_sample = 0;  // in which it was there
  };

  void Put(std::string_view name, double value, std::uint32_t sample)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndSeriesWithout(std::uint32_t sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(const std::string& name, const Series& series, std::string& out) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  mutable Mutex mutex_;
  std::deque<std::int64_t> times_ms_ ABSL_GUARDED_BY(mutex_);
  std::uint32_t first_ ABSL_GUARDED_BY(mutex_) = 0;  // the number of times_ms_.front()
  std::map<std::string, Series, std::less<>> series_ ABSL_GUARDED_BY(mutex_);
  std::size_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace yardmaster::metrics
