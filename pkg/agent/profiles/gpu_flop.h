// FLOP of a pod's GPUs from how much their tensor pipes work.
//
//   FLOP/s of a GPU = share of active cycles x SM clock x FLOP that the tensor pipes do in a cycle
//
// The last factor is the GPU's peak over the clock it is given for. It is that of 16-bit formats
// without sparsity: a job that computes in 8 bits does twice as much, in TF32 half as much. FLOP
// outside of the tensor pipes are not counted. A model that the table does not have yields no
// number.
//
// A pod gets a number only if each of its GPUs has one: a GPU that is divided (MIG) or that several
// pods share does not say whose cycles it counts.
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
  double clock_mhz = 0;  // at which that is reached
  double flop_per_cycle() const { return flop_per_second / (clock_mhz * 1e6); }
};

// By model name as the exporter writes it. Complete names: a prefix would take a GPU with other
// clocks or fewer multiprocessors for the same.
using GpuPeaks = std::map<std::string, GpuPeak>;

// V100, A30, A100, H100, H200 and H800.
GpuPeaks KnownGpuPeaks();

// Adds "MODEL=TERAFLOPS@MEGAHERTZ", such as "NVIDIA B200=2250@1850". Errors: InvalidArgument that
// begins with --gpu-peak.
absl::Status AddGpuPeak(std::string_view text, GpuPeaks& peaks);

struct FlopRates {
  using PodName = std::pair<std::string, std::string>;  // namespace and name
  std::map<PodName, double> flop_per_second;            // of all GPUs of the pod
  std::map<PodName, double> clock_mhz;  // of the slowest of them; without one that does nothing
  // GPUs, by what became of them: "measured", "unknown-model", "no-activity", "no-clock",
  // "divided", "shared", "no-pod".
  std::map<std::string, int> gpus;
  std::string unknown_model;  // the first
};

FlopRates FlopRatesOf(const std::vector<GpuSample>& samples, const GpuPeaks& peaks);

}  // namespace yardmaster::agent
