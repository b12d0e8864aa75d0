// What a dcgm-exporter serves: for all bytes, reading ends in samples within their bounds or an
// error, and FLOP of pods are finite and not below 0.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "pkg/agent/profiles/gpu_flop.h"
#include "pkg/agent/profiles/gpu_metrics.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace yardmaster;  // NOLINT: a program of one function
  static const agent::GpuPeaks known = agent::KnownGpuPeaks();
  const std::string text(reinterpret_cast<const char*>(data), size);
  // The first line as a flag, too.
  agent::GpuPeaks peaks = known;
  if (!agent::AddGpuPeak(text.substr(0, text.find('\n')), peaks).ok() &&
      peaks.size() != known.size()) {
    std::abort();
  }
  const auto samples = agent::ReadGpuMetrics(text);
  if (!samples.ok()) return 0;
  if (samples->size() > agent::kMaxGpuSamples) std::abort();
  for (const agent::GpuSample& gpu : *samples) {
    if (gpu.gpu.empty()) std::abort();
    if (gpu.tensor_active && !(*gpu.tensor_active >= 0 && *gpu.tensor_active <= 1)) std::abort();
    if (gpu.sm_clock_mhz && !(*gpu.sm_clock_mhz >= 0)) std::abort();
  }
  const agent::FlopRates rates = agent::FlopRatesOf(*samples, peaks);
  int gpus = 0;
  for (const auto& [state, count] : rates.gpus) gpus += count;
  if (gpus != static_cast<int>(samples->size())) std::abort();
  for (const auto& [pod, flop] : rates.flop_per_second) {
    if (!std::isfinite(flop) || flop < 0 || pod.second.empty()) std::abort();
  }
  return 0;
}
