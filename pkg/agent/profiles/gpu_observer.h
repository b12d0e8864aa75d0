// Measures how many FLOP the GPUs of pods do, from a dcgm-exporter (gpu_metrics.h, gpu_flop.h).
//
// The exporter is read every `interval_ms`. It reports means over its own interval (30 s by
// default), so the rate of a pod is the mean of the readings of the last `window_ms`, over which
// iterations are measured, too. A pod with fewer than `min_readings` readings has no rate. The FLOP
// of an iteration are the rate times the iteration's length. The clock of a pod's slowest GPU is
// the median over `clock_window_ms`, so that one reading during a moment of rest has no effect.
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

  // Reads if a read is due; blocks for as long as the limits allow.
  void Step(std::int64_t steady_ms);

  // Rate of all GPUs of the pod; nullopt: not known.
  std::optional<double> FlopPerSecond(const std::string& ns, const std::string& pod) const;
  // Present clock of the slowest GPU of the pod; nullopt: not known.
  std::optional<double> ClockMhz(const std::string& ns, const std::string& pod) const;
  // Adds the clock, and the FLOP if the report has an iteration's length and no FLOP of its own.
  void Fill(const std::string& ns, const std::string& pod, api::ProfileReport& report) const;

  // True if the GPUs do at least a tenth of their maximum within the window, by the last reading.
  // nullopt: not known.
  std::optional<bool> Computes(const std::string& ns, const std::string& pod) const;

  // Returns why GPUs have no number: the last read's error, or an unknown model.
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
