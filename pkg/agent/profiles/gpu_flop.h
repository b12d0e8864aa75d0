// Computes the FLOP of a pod's GPUs from the activity of their tensor pipes.
//
//   FLOP/s of a GPU = share of active cycles x SM clock x FLOP of the tensor pipes per cycle
//
// The last factor is the GPU's peak divided by the clock for which it is specified. It is that of
// 16-bit formats without sparsity: a job in 8 bits does twice as much, in TF32 half as much. FLOP
// outside of the tensor pipes are not counted. A GPU whose model is not in the table has no number.
//
// A pod has a number only if each of its GPUs has one. The activity of a divided GPU (MIG), or of
// one that several pods share, cannot be attributed to a pod.
//
// Thread safety: pure functions and values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/agent/profiles/gpu_metrics.h"

namespace yardmaster::agent {

struct GpuPeak {
  double flop_per_second = 0;
  double clock_mhz = 0;  // clock at which the peak is reached
  double flop_per_cycle() const { return flop_per_second / (clock_mhz * 1e6); }
};

// By complete model name as the exporter writes it. A prefix could match a GPU with other clocks or
// fewer multiprocessors.
using GpuPeaks = std::map<std::string, GpuPeak>;

// V100, A30, A100, H100, H200 and H800.
GpuPeaks KnownGpuPeaks();

// Adds "MODEL=TERAFLOPS@MEGAHERTZ", such as "NVIDIA B200=2250@1850". Errors: InvalidArgument that
// begins with --gpu-peak.
absl::Status AddGpuPeak(std::string_view text, GpuPeaks& peaks);

struct FlopRates {
  using PodName = std::pair<std::string, std::string>;  // namespace and name
  std::map<PodName, double> flop_per_second;            // of all GPUs of the pod
  std::map<PodName, double> clock_mhz;                  // of the slowest active GPU
  // Number of GPUs by result: "measured", "unknown-model", "no-activity", "no-clock", "divided",
  // "shared", "no-pod".
  std::map<std::string, int> gpus;
  std::string unknown_model;  // the first unknown model
};

FlopRates FlopRatesOf(const std::vector<GpuSample>& samples, const GpuPeaks& peaks);

}  // namespace yardmaster::agent
