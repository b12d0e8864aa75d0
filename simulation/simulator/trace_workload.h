// Jobs over time: those of the public Lingjun 2023 trace, or ones generated with its statistics.
//
// What the trace does not say is derived here. From a model's name come its parameters; from them
// tensor parallelism inside a host (7e9 parameters and more) and pipeline stages for the largest.
// Compute time and overlap are drawn around those published (a 64-GPU GPT iterates in 1.53 s).
// Communication follows from compute: FLOP and gradient both grow with the parameters, so that
// their ratio is a matter of the batch, not of the model; it is drawn within a factor of two around
// kCommunicationRatio, which makes the published pair (64-GPU GPT, 16-GPU BERT) lose what it lost.
// Only what the GPUs of one host reduce among themselves is counted from the parameters.
// Deterministic in (input, seed). Thread safety: pure functions.
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
  // Concurrency follows from both (Little): the trace's peak is above 30 jobs on 1,000 GPUs, these
  // give 27 to 35 over its two weeks.
  double mean_gap_seconds = 233;  // 5,180 jobs in two weeks
  double mean_run_seconds = 3000;
  // Share of jobs with 128 GPUs or more; the trace has over a tenth, the largest 512.
  double large_share = 0.12;
  std::uint64_t seed = 1;
};

// Draws models and sizes from `sizes` (entries of 0 GPUs are skipped) and two large ones (GPT-13b
// on 128 GPUs, GPT-175b on 512), with day and night in the arrivals. Run times are log-normal, from
// 60 s to 20 times the mean. Ids are "job0", "job1", ... by arrival.
std::vector<TraceJob> GenerateTrace(const std::vector<ModelSize>& sizes,
                                    const GenerateOptions& options);

// Communication over compute seconds where each GPU sends at its share of the testbed's NICs (four
// of 200 Gbit/s for eight GPUs) around a ring of eight hosts.
inline constexpr double kCommunicationRatio = 0.45;

// What a job computes and sends in one iteration.
struct JobProfile {
  double compute_seconds = 0;
  double communication_start = 1;
  double flop_per_iteration = 0;
  std::int32_t stages = 1;  // pipeline stages; each has a ring of its own
  // Sent to the next host of its ring by each of the eight GPUs of a host; fewer GPUs send the same
  // in all.
  double ring_bytes_per_gpu = 0;
  double host_ring_bytes_per_gpu = 0;  // to the next GPU of its host; tensor parallelism sends none
};
// The job's pipeline stages; they divide `hosts`.
std::int32_t StagesOf(const TraceJob& job, std::int32_t hosts);
JobProfile ProfileOf(const TraceJob& job, std::int32_t hosts, std::uint64_t seed);

}  // namespace yardmaster::sim
