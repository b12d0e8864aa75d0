// Jobs over time: those of the public Lingjun 2023 trace, or ones generated with its statistics.
//
// What the trace does not say is derived here: a model's parameters from its name; from them,
// tensor parallelism inside a host, pipeline stages for the largest, and gradients of two bytes a
// parameter reduced by rings over the hosts of a stage; compute time and overlap are drawn around
// those published (a 64-GPU GPT iterates in 1.53 s). Deterministic in (input, seed). Thread safety:
// pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace yardmaster::sim {

// Where a job of the trace ran.
struct TracePlace {
  std::int32_t host = 0;  // of the network
  std::int32_t gpus = 0;
};

struct TraceJob {
  std::string id;
  std::string model;
  std::int32_t gpus = 0;
  double arrival_seconds = 0;
  double run_seconds = 0;               // alone on the network
  std::vector<TracePlace> places = {};  // sorted by host; empty: anywhere
};

struct ModelSize {
  std::string model;
  std::int32_t gpus = 0;
};

struct GenerateOptions {
  std::int32_t jobs = 500;
  // Concurrency follows from both (Little): the trace's peak is above 30 jobs on 1,000 GPUs.
  double mean_gap_seconds = 233;  // 5,180 jobs in two weeks
  double mean_run_seconds = 5400;
  // Share of jobs with 128 GPUs or more; the trace has over a tenth, the largest 512.
  double large_share = 0.12;
  std::uint64_t seed = 1;
};

// Draws models and sizes from `sizes` (entries of 0 GPUs are skipped), with day and night in the
// arrivals and run times spread over decades. REQUIRES: some entry of `sizes` has GPUs.
std::vector<TraceJob> GenerateTrace(const std::vector<ModelSize>& sizes,
                                    const GenerateOptions& options);

// What a job computes and sends in one iteration.
struct JobProfile {
  double compute_seconds = 0;
  double communication_start = 1;
  double flop_per_iteration = 0;
  std::int32_t stages = 1;        // pipeline stages; each has a ring of its own
  double ring_bytes_per_gpu = 0;  // sent by each GPU to the next host of its ring
};
JobProfile ProfileOf(const TraceJob& job, std::int32_t hosts, std::uint64_t seed);

}  // namespace yardmaster::sim
