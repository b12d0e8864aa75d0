// Two jobs on one link: what each loses when the other has priority, and the correction factor of
// section 4.2 that follows from it.
//
// The model: every job repeats compute and communication; communication becomes ready after
// `communication_start` of the compute; the link serves the first job alone and without delay, the
// second in what is left. The first job then runs as if alone, with period T = max(c, s*c + t), so
// an iteration of the second is a function of the phase at which it becomes ready: this is a map of
// the circle onto itself, iterated until it repeats (Brent) or for kIterations (127). Both are
// ready at time 0.
//
// Correction factor, reference r with k = 1 against job j (r1, s1 seconds of r and j carried with r
// first; r2, s2 with j first, over the same long time):  k_j = (s2 - s1) / (r1 - r2).
// Where neither order costs anything in the long run the quotient is 0/0; then the delay suffered
// once, before the two interleave, takes its place. With neither, k = 1. k is kept within
// [kMinCorrection, kMaxCorrection], because one side may lose nothing.
// Determinism: exact for periods that meet again; else a mean over the last half of kIterations.
// Thread safety: pure functions.
#pragma once

namespace yardmaster::crux {

inline constexpr double kMinCorrection = 1e-3;
inline constexpr double kMaxCorrection = 1e3;

// A job as the shared link sees it.
struct IterationTiming {
  double compute_seconds = 0;
  double communication_start = 1;
  double communication_seconds = 0;  // of an iteration alone
  double link_seconds = 0;           // how long it keeps the shared link busy, <= the line above
  double Period() const;             // of an iteration alone
  bool operator==(const IterationTiming&) const = default;
};

// What the job of lower priority does in a stretch of iterations that repeats for ever.
struct LowerPriorityRun {
  double iterations = 0;
  double stretch_seconds = 0;      // 0: it never finishes an iteration
  double delay_seconds = 0;        // of all iterations of the stretch together, against being alone
  double first_delay_seconds = 0;  // suffered before the stretch
  // Share of its lone speed that it loses in the long run, in [0, 1].
  double SpeedLoss() const;
};

// Runs `second` on the link in what `first` leaves of it.
LowerPriorityRun SimulateLowerPriority(const IterationTiming& first, const IterationTiming& second);

// k of `job` against `reference`, which has k = 1; within [kMinCorrection, kMaxCorrection].
double CorrectionFactor(const IterationTiming& reference, const IterationTiming& job);

}  // namespace yardmaster::crux
