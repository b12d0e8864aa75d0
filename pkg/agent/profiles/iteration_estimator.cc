#include "pkg/agent/profiles/iteration_estimator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace yardmaster::agent {

namespace {

constexpr double kMinPeak = 0.15;
constexpr double kPeakShare = 0.55;
// Widths in periods: of an edge on either side, and of the place where a beat may stand.
constexpr double kEdge = 0.12;
// Gaps between edges in periods, and what a gap costs that is not one period.
constexpr double kShortestGap = 0.6;
constexpr double kLongestGap = 1.9;
constexpr double kGapCost = 25;
// An edge weaker than this share of the median one is not the end of an iteration but noise, or a
// place where none was seen.
constexpr double kWeakEdge = 0.25;
// One weaker than this may be either.
constexpr double kSureEdge = 0.45;

using Signal = std::vector<double>;

std::size_t SamplesIn(double value) { return value < 1 ? 1 : static_cast<std::size_t>(value); }

// At lags 0 .. max_lag, without the mean, 1 at lag 0. Empty for a constant signal.
Signal Autocorrelation(const Signal& samples, std::size_t max_lag) {
  const std::size_t n = samples.size();
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(n);
  Signal centred(n);
  for (std::size_t i = 0; i < n; ++i) centred[i] = samples[i] - mean;
  const double variance = std::inner_product(centred.begin(), centred.end(), centred.begin(), 0.0) /
                          static_cast<double>(n);
  if (variance <= 1e-9 * mean * mean || variance <= 0) return {};
  Signal out(max_lag + 1);
  for (std::size_t lag = 0; lag <= max_lag; ++lag) {
    const double sum =
        std::inner_product(centred.begin(), centred.end() - static_cast<std::ptrdiff_t>(lag),
                           centred.begin() + static_cast<std::ptrdiff_t>(lag), 0.0);
    out[lag] = sum / static_cast<double>(n - lag) / variance;
  }
  return out;
}

struct Peak {
  double period = 0;  // in samples
  double height = 0;
};

// The highest lag in [low, high].
std::size_t Highest(const Signal& r, std::size_t low, std::size_t high) {
  return static_cast<std::size_t>(
      std::max_element(r.begin() + static_cast<std::ptrdiff_t>(low),
                       r.begin() + static_cast<std::ptrdiff_t>(high) + 1) -
      r.begin());
}

// Sharpens a period by the peaks at its multiples, whose places it divides.
double Refine(const Signal& r, double period) {
  const auto last = static_cast<double>(r.size() - 2);
  double weighted = 0, weights = 0;
  for (int k = 1; k <= 12; ++k) {
    const double centre = period * k;
    const double width = std::max(2.0, period * 0.15);
    if (centre + width > last) break;
    const auto low = static_cast<std::size_t>(std::max(1.0, centre - width));
    const auto high = static_cast<std::size_t>(centre + width);
    const std::size_t top = Highest(r, low, high);
    if (r[top] < 0.08) break;
    // The middle of the peak above 0.6 of its height.
    const double floor = r[top] * 0.6;
    double sum = 0, moment = 0;
    for (std::size_t i = low; i <= high; ++i) {
      const double above = std::max(0.0, r[i] - floor);
      sum += above;
      moment += above * static_cast<double>(i);
    }
    weighted += k * (moment / sum) * r[top];
    weights += k * k * r[top];
    period = weighted / weights;
  }
  return period;
}

std::optional<Peak> FindPeriod(const Signal& r, std::size_t min_lag) {
  const std::size_t end = r.size() / 2;  // twice the longest period is in r
  std::size_t start = 1;
  while (start < end && r[start] >= 0.1 && !(r[start] < r[start + 1] && r[start] < 0.7)) ++start;
  start = std::max({start, min_lag, std::size_t{1}});
  std::vector<std::size_t> peaks;
  double highest = 0;
  for (std::size_t i = start; i + 1 < end; ++i) {
    if (r[i] < r[i - 1] || r[i] <= r[i + 1]) continue;
    peaks.push_back(i);
    highest = std::max(highest, r[i]);
  }
  if (highest < kMinPeak) return std::nullopt;
  const auto first = *std::find_if(peaks.begin(), peaks.end(),
                                   [&](std::size_t i) { return r[i] >= kPeakShare * highest; });
  // Noise splits a peak into several: the highest one nearby.
  const std::size_t top =
      Highest(r, SamplesIn(static_cast<double>(first) * 0.93),
              std::min(end, static_cast<std::size_t>(static_cast<double>(first) * 1.07) + 1));
  return Peak{Refine(r, static_cast<double>(top)), r[top]};
}

// How much less is sent after each place than before it, in units of its standard deviation.
Signal FallingEdges(const Signal& samples, std::size_t width) {
  const std::size_t n = samples.size();
  Signal sums(n + 1, 0);
  std::partial_sum(samples.begin(), samples.end(), sums.begin() + 1);
  Signal edges(n, 0);
  double squares = 0;
  // Places too near to the ends have no two sides.
  for (std::size_t t = width; t + width <= n; ++t) {
    edges[t] = (2 * sums[t] - sums[t - width] - sums[t + width]) / static_cast<double>(width);
    squares += edges[t] * edges[t];
  }
  const double deviation = std::sqrt(squares / static_cast<double>(n));
  if (deviation > 0) {
    for (double& edge : edges) edge /= deviation;
  }
  return edges;
}

struct Track {
  std::vector<std::size_t> edges;
  double score = 0;
  int uncertain = 0;  // edges that may be missing, or one too many
};

// The best sequence of edges whose gaps stay near the period.
Track FollowEdges(const Signal& edges, double period) {
  const std::size_t n = edges.size();
  const std::size_t shortest = SamplesIn(kShortestGap * period);
  const std::size_t longest = SamplesIn(kLongestGap * period) + 1;
  Signal cost(longest + 1, 0);
  for (std::size_t gap = shortest; gap <= longest; ++gap) {
    const double ratio = std::log(static_cast<double>(gap) / period);
    cost[gap] = kGapCost * ratio * ratio;
  }
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  Signal score(n, 0);
  std::vector<std::size_t> before(n, kNone);
  for (std::size_t t = 0; t < n; ++t) {
    double best = 0;
    for (std::size_t gap = shortest; gap <= std::min(longest, t); ++gap) {
      if (score[t - gap] - cost[gap] > best) {
        best = score[t - gap] - cost[gap];
        before[t] = t - gap;
      }
    }
    score[t] = std::max(0.0, edges[t]) + best;
  }
  const std::size_t tail = std::min(n, SamplesIn(1.2 * period));
  const auto end = std::max_element(score.end() - static_cast<std::ptrdiff_t>(tail), score.end());
  Track track;
  track.score = *end;
  auto at = static_cast<std::size_t>(end - score.begin());
  for (; at != kNone; at = before[at]) track.edges.push_back(at);
  std::reverse(track.edges.begin(), track.edges.end());
  return track;
}

void DropWeak(const Signal& edges, double period, Track& track) {
  const std::size_t reach = SamplesIn(kEdge * period);
  const auto strength = [&](std::size_t t) {
    const std::size_t low = t < reach ? 0 : t - reach;
    return edges[Highest(edges, low, std::min(edges.size() - 1, t + reach))];
  };
  Signal strengths;
  for (std::size_t t : track.edges) strengths.push_back(strength(t));
  if (strengths.empty()) return;
  Signal sorted = strengths;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  std::vector<std::size_t> kept;
  int doubts = 0;  // since the first that is kept
  for (std::size_t i = 0; i < strengths.size(); ++i) {
    const bool keep = strengths[i] >= kWeakEdge * *middle;
    if (keep) {
      if (!kept.empty()) track.uncertain = doubts;  // those before this one lie between others
      kept.push_back(track.edges[i]);
    }
    if ((!keep || strengths[i] < kSureEdge * *middle) && !kept.empty() &&
        (!keep || kept.size() > 1)) {
      ++doubts;
    }
  }
  track.edges = std::move(kept);
}

struct Mean {
  double samples = 0;
  double error = 0;
  double gaps = 0;
};

std::optional<Mean> MeanGap(const Track& track, double period) {
  if (track.edges.size() < kMinIterations + 1) return std::nullopt;
  Mean mean;
  mean.gaps = static_cast<double>(track.edges.size() - 1);
  mean.samples = static_cast<double>(track.edges.back() - track.edges.front()) / mean.gaps;
  mean.error = (2 * kEdge * period + 1 + track.uncertain * mean.samples) / mean.gaps;
  return mean;
}

// The share of samples above the threshold that separates the signal best into two classes (Otsu).
double SharePresent(Signal samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const double total = std::accumulate(samples.begin(), samples.end(), 0.0);
  double below = 0, best = -1;
  std::size_t split = 0;
  for (std::size_t i = 1; i < n; ++i) {
    below += samples[i - 1];
    const auto low = static_cast<double>(i);
    const auto high = static_cast<double>(n - i);
    const double difference = (total - below) / high - below / low;
    const double between = low * high * difference * difference;
    if (between > best) {
      best = between;
      split = i;
    }
  }
  return static_cast<double>(n - split) / static_cast<double>(n);
}

}  // namespace

std::optional<IterationEstimate> EstimateIterations(const std::vector<double>& samples,
                                                    double interval_seconds, double min_seconds) {
  const std::size_t n = samples.size();
  if (n < 16 || !(interval_seconds > 0)) return std::nullopt;
  for (double sample : samples) {
    if (!std::isfinite(sample)) return std::nullopt;
  }
  const Signal r = Autocorrelation(samples, n / 2);
  if (r.empty()) return std::nullopt;
  const auto peak = FindPeriod(r, SamplesIn(min_seconds / interval_seconds));
  if (!peak.has_value()) return std::nullopt;

  const double period = peak->period;
  Signal falling = FallingEdges(samples, SamplesIn(kEdge * period));
  Signal rising = falling;
  for (double& edge : rising) edge = -edge;
  Track track = FollowEdges(falling, period);
  Track other = FollowEdges(rising, period);
  const bool rises = other.score > track.score;
  if (rises) std::swap(track, other);
  DropWeak(rises ? rising : falling, period, track);
  DropWeak(rises ? falling : rising, period, other);
  const auto mean = MeanGap(track, period);
  const auto check = MeanGap(other, period);
  if (!mean || !check) return std::nullopt;

  const double apart = std::abs(mean->samples - check->samples);
  const double error = mean->error + std::max(0.0, apart - check->error);
  return IterationEstimate{mean->samples * interval_seconds,
                           error * interval_seconds,
                           static_cast<int>(mean->gaps),
                           static_cast<double>(track.edges.front()) * interval_seconds,
                           static_cast<double>(track.edges.back()) * interval_seconds,
                           SharePresent(samples)};
}

}  // namespace yardmaster::agent
