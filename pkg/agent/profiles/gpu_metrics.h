// Parses what a dcgm-exporter reports about a node's GPUs, in the text format of Prometheus.
//
//   DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",UUID="GPU-6b",modelName="NVIDIA H100 80GB HBM3",...,
//                                   namespace="team",pod="llm-0"} 0.412
//
// Two metrics are parsed: DCGM_FI_PROF_PIPE_TENSOR_ACTIVE (the share of cycles in which the tensor
// pipe works, 0 to 1) and DCGM_FI_DEV_SM_CLOCK (MHz). Lines of other metrics are skipped. The pod
// is that of the labels `namespace` and `pod`, or of `pod_namespace` and `pod_name`, which early
// exporters write.
//
// Errors: InvalidArgument that names the line, for a malformed line of these metrics, for an
// impossible share or clock, and for more than kMaxGpuSamples samples (by GPU, instance and pod).
// NaN means "not known".
//
// Bounds: the caller limits the length of the text; a line has at most kMaxGpuLabels labels.
// Complexity: O(length * log samples). Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::agent {

inline constexpr std::size_t kMaxGpuSamples = 2048;
inline constexpr std::size_t kMaxGpuLabels = 64;

struct GpuSample {
  std::string gpu;       // UUID, or the index where there is none
  std::string instance;  // of a GPU that is divided (MIG); empty: the whole GPU
  std::string model;     // "NVIDIA H100 80GB HBM3"; empty: not said
  std::string ns;        // of the pod that has it; empty: none, or not said
  std::string pod;
  std::optional<double> tensor_active;
  std::optional<double> sm_clock_mhz;
  bool operator==(const GpuSample&) const = default;
};

// Returns the samples in the order in which each GPU, instance and pod first occurs.
absl::StatusOr<std::vector<GpuSample>> ReadGpuMetrics(std::string_view text);

}  // namespace yardmaster::agent
