// Simulates two jobs on one link, to find what each loses if the other has priority, and computes
// the correction factor of section 4.2 from it.
//
// Model: every job repeats compute and communication. Communication becomes ready after
// `communication_start` of the compute. The link serves the first job without delay, and the second
// in the remaining time. The first job then runs as without contention, with period T = max(c, s*c
// + t). So an iteration of the second job is a function of the phase at which it becomes ready: a
// map of the circle onto itself, which is iterated until it repeats (Brent) or for kIterations
// (127). Both are ready at time 0.
//
// Correction factor of job j against the reference r with k = 1, where r1, s1 are the seconds of r
// and j carried with r first, and r2, s2 those with j first, over the same long time:
//
//   k_j = (s2 - s1) / (r1 - r2)
//
// If neither order costs anything in the long run the quotient is 0/0. Then the delay that occurs
// once, before the jobs interleave, is used instead; without that, k = 1. k is limited to
// [kMinCorrection, kMaxCorrection], because one side may lose nothing.
//
// Determinism: exact for periods that coincide again; otherwise a mean over the last half of
// kIterations. Thread safety: pure functions.
#pragma once

namespace yardmaster::crux {

inline constexpr double kMinCorrection = 1e-3;
inline constexpr double kMaxCorrection = 1e3;

// The timing of a job on the shared link.
struct IterationTiming {
  double compute_seconds = 0;
  double communication_start = 1;
  double communication_seconds = 0;  // per iteration, without contention
  double link_seconds = 0;           // busy time of the shared link, <= communication_seconds
  double Period() const;             // of an iteration without contention
  bool operator==(const IterationTiming&) const = default;
};

// The iterations of the lower-priority job, as a stretch that repeats indefinitely.
struct LowerPriorityRun {
  double iterations = 0;
  double stretch_seconds = 0;      // 0: the job never completes an iteration
  double delay_seconds = 0;        // of the stretch, compared with no contention
  double first_delay_seconds = 0;  // before the stretch
  // Fraction of its speed without contention that the job loses in the long run, in [0, 1].
  double SpeedLoss() const;
};

// Simulates `second` in the time that `first` leaves on the link.
LowerPriorityRun SimulateLowerPriority(const IterationTiming& first, const IterationTiming& second);

// Returns k of `job` against `reference`, which has k = 1; within [kMinCorrection, kMaxCorrection].
double CorrectionFactor(const IterationTiming& reference, const IterationTiming& job);

}  // namespace yardmaster::crux
