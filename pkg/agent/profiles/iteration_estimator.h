// The length of a training job's iterations from the bytes that its NICs send: no help of the job
// is needed.
//
// Problem. Given bytes sent in each of n equal intervals, find the mean time from one iteration to
// the next, and the share of it in which the NICs send. Iterations have jitter, stragglers and
// pauses (checkpoints); inside an iteration there may be smaller bursts (micro batches); there is
// noise.
//
// Method. (1) The autocorrelation's highest peaks give a rough period: the shortest lag whose peak
// reaches kPeakShare of the highest one, so that neither micro batches (low peaks at shorter lags)
// nor patterns over several iterations (higher peaks at longer lags) are taken for it. (2) The
// edges of the bursts are tracked by dynamic programming (Ellis, "Beat tracking by dynamic
// programming", 2007): the sequence of edges that is strong and whose gaps stay near the period.
// Falling and rising edges are tried, the stronger sequence counts. (3) The mean gap is the answer.
//
// Error bar: a bound, not a deviation. What can be wrong is the place of the first and the last
// edge, by kEdge periods each, and the number of iterations between them: by one for each edge that
// was left out between others or is weak. And where rising and falling edges say different things,
// by more than the other one's bar, the difference is added.
//
// nullopt if no period is found: fewer than 16 samples, a sample that is not finite, a constant
// signal, no peak above kMinPeak, fewer than kMinIterations iterations in the window by either kind
// of edges. Complexity: O(n * L) for lags up to L = n / 2. Determinism: depends on the samples
// alone. Thread safety: pure functions.
#pragma once

#include <optional>
#include <vector>

namespace yardmaster::agent {

struct IterationEstimate {
  double seconds = 0;        // mean length of the iterations that were seen whole
  double error_seconds = 0;  // by which it is off at most
  int iterations = 0;        // seen whole in the window
  double begin_seconds = 0;  // of the first of them, from the window's begin
  double end_seconds = 0;    // of the last
  double sending_share = 0;  // of the time, 0 to 1
};

inline constexpr int kMinIterations = 4;

// `samples`: bytes in each interval, oldest first. `interval_seconds` > 0. Periods below
// `min_seconds` are not looked for.
std::optional<IterationEstimate> EstimateIterations(const std::vector<double>& samples,
                                                    double interval_seconds,
                                                    double min_seconds = 0.1);

}  // namespace yardmaster::agent
