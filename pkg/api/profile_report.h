// The annotation yardmaster.dev/profile: what a worker's training process measured of its
// iterations. Written by the agent of its node at a bounded rate, read by the operator.
//
//   {"version":1,"samples":40,"iterationSeconds":1.9,"computeSeconds":1.5,"communicationSeconds":0.5,
//    "communicationStart":0.4,"flop":2.1e15,"sentBytes":[3.1e9,3.1e9],
//    "recentComputeSeconds":1.5,"gpuClockMhz":1755,"cpuThrottled":0.4,
//    "time":"2026-01-01T00:00:00Z"}
//
// All numbers are means over the last `samples` iterations, of this worker alone: seconds of one
// iteration, of its compute without waiting, of its transfers; the fraction of compute after which
// communication begins; the FLOP of the worker's GPUs; bytes sent by each NIC, rail 0 first. Left
// out: not measured.
//
// Four fields say whether the worker's host is slow now: the median of its compute over the last
// half minute, the clock of its slowest GPU, the fraction of its CPU periods in which the CPU limit
// of its own pod throttled it over the last half minute, and when the newest iteration in the
// report was reported to the agent. A report that the agent renews without a change differs by its
// time.
//
// Numbers that cannot be true are refused: negative or not finite; more than a day, 1e24 FLOP, 1e15
// bytes of a NIC, 64 NICs or 1e5 MHz; a fraction above 1; 0 for iterationSeconds, computeSeconds,
// recentComputeSeconds, gpuClockMhz, flop and samples.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::api {

// Condition of a Gang. True: a worker computes longer than its like (operator/telemetry).
inline constexpr char kStragglingCondition[] = "Straggling";

struct ProfileReport {
  std::int64_t samples = 0;
  std::optional<double> iteration_seconds;
  std::optional<double> compute_seconds;
  std::optional<double> communication_seconds;
  std::optional<double> communication_start;
  std::optional<double> flop;
  std::vector<double> sent_bytes;
  std::optional<double> recent_compute_seconds = {};
  std::optional<double> gpu_clock_mhz = {};
  std::optional<double> cpu_throttled = {};
  std::int64_t time_ms = 0;  // 0: not known
  bool operator==(const ProfileReport&) const = default;
};

std::string EncodeProfileReport(const ProfileReport& report);
// Errors: InvalidArgument that names a wrong field; another version than 1 is one.
absl::StatusOr<ProfileReport> DecodeProfileReport(std::string_view text);

// The first thing in it that cannot be true, as a FieldError; also what Decode refuses.
absl::Status CheckProfileReport(const ProfileReport& report);

}  // namespace yardmaster::api
