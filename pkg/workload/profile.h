// What is known of a job's iteration: analytic until measured, then measured, blended while few
// samples exist.
//
// A sample is one iteration that the job's agents saw. With n samples a measurement weighs
// n / 20, at most 1; positive quantities are blended on a logarithmic scale
// (analytic^(1-w) * measured^w), because an estimate is wrong by a factor rather than by a
// difference; the communication start, a fraction, linearly. A quantity without measurements keeps
// its estimate. Impossible measurements (NaN, infinite, zero or negative; a communication start
// outside 0 to 1) are ignored.
//
// Deterministic, no failure. Thread safety: pure functions and values.
#pragma once

#include <cstdint>
#include <optional>

#include "pkg/workload/job.h"

namespace yardmaster::workload {

enum class ProfileSource { kAnalytic, kBlended, kMeasured };

// Means over `samples` iterations of the whole job. Absent: not measured.
struct Measurement {
  std::int64_t samples = 0;
  std::optional<double> flop_per_iteration;
  std::optional<double> compute_seconds;        // of one iteration, without waiting
  std::optional<double> communication_start;    // fraction of compute, from 0 to 1
  std::optional<double> communication_seconds;  // t_j: spent transferring, free of contention
  std::optional<double> sent_bytes_per_gpu;     // between hosts, in one iteration
};

// What the analytic profile gives on the job's placement and paths. 0: unknown, or nothing leaves a
// host; a measured time is then used without blending, and measured bytes are ignored.
struct NetworkEstimate {
  double communication_seconds = 0;
  double sent_bytes_per_gpu = 0;
};

struct BlendedProfile {
  // Complete: every estimate is filled in. Where sent bytes were measured the bytes of all kinds
  // are scaled alike, so that together they send the blend.
  Profile profile;
  // Blend of the estimate, for the scaled bytes, and the measured time. Also in the profile where
  // the time was measured: a planner that computes t_j from bytes honours it by scaling the job's
  // bytes alike.
  double communication_seconds = 0;
  // Measured only at full weight and when both FLOP and communication time were measured, which is
  // what intensity is made of; Analytic when nothing was.
  ProfileSource source = ProfileSource::kAnalytic;
  double weight = 0;
};

BlendedProfile BlendProfile(const Job& job, const Measurement& measurement,
                            const NetworkEstimate& estimate);

}  // namespace yardmaster::workload
