// Measures how many FLOP the GPUs of pods do, from what a dcgm-exporter says (gpu_metrics.h,
// gpu_flop.h).
//
// The exporter is asked every `interval_ms`. What it says is a mean over its own interval (30 s by
// default), so a pod's rate is the mean of the readings of the last `window_ms`, the time over
// which iterations are measured too; a pod with fewer than `min_readings` of them has none. FLOP of
// an iteration are the rate times the iteration's length. The clock of a pod's slowest GPU is the
// median over `clock_window_ms`, so that one reading of a moment of rest does not count.
//
// Thread safety: Step from one thread; the others from any.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pkg/agent/ports/text_source.h"
#include "pkg/agent/profiles/gpu_flop.h"
#include "pkg/api/profile_report.h"
#include "pkg/base/mutex.h"

namespace yardmaster::agent {

struct GpuOptions {
  std::string source;  // http://... or a file
  GpuPeaks peaks = KnownGpuPeaks();
  std::int64_t interval_ms = 15'000;
  std::int64_t window_ms = 120'000;
  std::size_t min_readings = 4;
  std::int64_t clock_window_ms = 60'000;
  TextLimits limits{5'000, std::size_t{4} << 20};
};

class GpuObserver {
 public:
  using Read = std::function<absl::StatusOr<std::string>(const std::string&, const TextLimits&)>;
  explicit GpuObserver(GpuOptions options, Read read = ReadUrlOrFile)
      : options_(std::move(options)), read_(std::move(read)) {}

  // Reads if it is due; blocks for as long as the limits say.
  void Step(std::int64_t steady_ms);

  // Of all GPUs of the pod; nullopt: not known.
  std::optional<double> FlopPerSecond(const std::string& ns, const std::string& pod) const;
  // Of the slowest GPU of the pod now; nullopt: not known.
  std::optional<double> ClockMhz(const std::string& ns, const std::string& pod) const;
  // Adds the clock, and the FLOP to a report that has an iteration's length and no FLOP of its own.
  void Fill(const std::string& ns, const std::string& pod, api::ProfileReport& report) const;

  // Whether they do a tenth of what they did at most within the window, as the last reading has it.
  // nullopt: not known.
  std::optional<bool> Computes(const std::string& ns, const std::string& pod) const;

  // Why GPUs have no number: the last read's error, or a model that is not known.
  absl::Status problem() const;
  std::map<std::string, int> gpus() const;  // by state (gpu_flop.h), as last read
  std::int64_t reads() const;
  std::int64_t failures() const;

 private:
  struct Reading {
    std::int64_t steady_ms = 0;
    FlopRates rates;
  };

  const GpuOptions options_;
  const Read read_;
  std::int64_t next_ms_ = 0;  // the stepping thread's
  mutable Mutex mutex_;
  std::deque<Reading> readings_ ABSL_GUARDED_BY(mutex_);
  absl::Status problem_ ABSL_GUARDED_BY(mutex_);
  std::int64_t reads_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace yardmaster::agent
