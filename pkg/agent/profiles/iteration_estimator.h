// Estimates the length of a training job's iterations from the bytes that its NICs send, without
// help of the job.
//
// Problem: given the bytes sent in each of n equal intervals, find the mean time from one iteration
// to the next, and the share of it in which the NICs send. Iterations have jitter, stragglers and
// pauses (checkpoints); an iteration may contain smaller bursts (micro batches); there is noise.
//
// Method:
//   1. The highest peaks of the autocorrelation give a rough period: the shortest lag whose peak
//      reaches kPeakShare of the highest one. So neither micro batches (low peaks at shorter lags)
//      nor patterns over several iterations (higher peaks at longer lags) are mistaken for it.
//   2. Dynamic programming tracks the edges of the bursts (Ellis, "Beat tracking by dynamic
//      programming", 2007): the sequence of strong edges whose gaps stay near the period. Falling
//      and rising edges are tried, and the stronger sequence is used.
//   3. The mean gap is the result.
//
// Error: a bound, not a deviation. Uncertain are the positions of the first and the last edge, by
// kEdge periods each, and the number of iterations between them, by one for each edge that is
// missing between others or weak. If the result of rising and falling edges differs by more than
// the other one's bound, the difference is added.
//
// Fails (nullopt) with fewer than 16 samples, a sample that is not finite, a constant signal, no
// peak above kMinPeak, or fewer than kMinIterations iterations in the window by either kind of
// edge. Complexity: O(n * L) for lags up to L = n / 2. Determinism: depends only on the samples.
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <vector>

namespace yardmaster::agent {

struct IterationEstimate {
  double seconds = 0;        // mean length of the iterations that are complete in the window
  double error_seconds = 0;  // maximum error of `seconds`
  int iterations = 0;        // complete iterations in the window
  double begin_seconds = 0;  // begin of the first one, from the begin of the window
  double end_seconds = 0;    // end of the last one
  double sending_share = 0;  // share of the time, 0 to 1
};

inline constexpr int kMinIterations = 4;

// `samples`: bytes in each interval, oldest first. `interval_seconds` > 0. Periods below
// `min_seconds` are not looked for.
std::optional<IterationEstimate> EstimateIterations(const std::vector<double>& samples,
                                                    double interval_seconds,
                                                    double min_seconds = 0.1);

}  // namespace yardmaster::agent
