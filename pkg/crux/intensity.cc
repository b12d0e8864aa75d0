#include "pkg/crux/intensity.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace yardmaster::crux {
namespace {

// Latest first, each once.
std::vector<double> Starts(const ContendingJob& job) {
  std::vector<double> starts;
  for (const Flow& flow : job.flows) starts.push_back(StartOf(job, flow));
  std::sort(starts.begin(), starts.end(), std::greater<>());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

}  // namespace

double StartOf(const ContendingJob& job, const Flow& flow) {
  return flow.communication_start.value_or(job.communication_start);
}

double FirstStart(const ContendingJob& job) {
  double first = job.flows.empty() ? job.communication_start : 1;
  for (const Flow& flow : job.flows) first = std::min(first, StartOf(job, flow));
  return first;
}

bool StartsTogether(const ContendingJob& job) {
  return std::all_of(job.flows.begin(), job.flows.end(), [&](const Flow& flow) {
    return StartOf(job, flow) == StartOf(job, job.flows.front());
  });
}

void LoadCounter::Add(const ContendingJob& job, std::span<const std::int32_t> paths,
                      std::optional<double> start) {
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const Flow& flow = job.flows[f];
    if (flow.background || (start && StartOf(job, flow) != *start)) continue;
    if (counted_ == CountedFlows::kEveryIteration && flow.every_iterations > 1) continue;
    const double bytes = MeanBytes(flow);
    flow.paths.Each(paths[f], [&](std::int32_t link, double share) {
      if (bytes_[link] == 0) touched_.push_back(link);
      bytes_[link] += bytes * share;
    });
  }
}

double LoadCounter::LongestSeconds() const {
  double longest = 0;
  for (const std::int32_t link : touched_) {
    longest = std::max(longest, bytes_[link] / BytesPerSecond(problem_.links[link]));
  }
  return longest;
}

void LoadCounter::Clear() {
  for (const std::int32_t link : touched_) bytes_[link] = 0;
  touched_.clear();
}

std::vector<LinkSeconds> LoadCounter::Count(const ContendingJob& job,
                                            std::span<const std::int32_t> paths) {
  Add(job, paths);
  std::sort(touched_.begin(), touched_.end());
  std::vector<LinkSeconds> loads;
  loads.reserve(touched_.size());
  for (const std::int32_t link : touched_) {
    loads.push_back({link, bytes_[link] / BytesPerSecond(problem_.links[link])});
  }
  Clear();
  return loads;
}

double LoadCounter::CommunicationSeconds(const ContendingJob& job,
                                         std::span<const std::int32_t> paths) {
  Add(job, paths);
  const double longest = LongestSeconds();
  Clear();
  return longest;
}

double LoadCounter::SpanSeconds(const ContendingJob& job, std::span<const std::int32_t> paths) {
  if (StartsTogether(job)) return CommunicationSeconds(job, paths);
  const std::vector<double> starts = Starts(job);
  double span = 0;
  for (const double start : starts) {
    Add(job, paths, start);
    if (touched_.empty()) continue;
    span = std::max(span, (start - starts.back()) * job.compute_seconds + LongestSeconds());
  }
  Clear();
  return span;
}

std::vector<LinkSeconds> LinkLoads(const Problem& problem, const ContendingJob& job,
                                   std::span<const std::int32_t> paths) {
  return LoadCounter(problem).Count(job, paths);
}

double CommunicationSeconds(const std::vector<LinkSeconds>& loads) {
  double longest = 0;
  for (const LinkSeconds& load : loads) longest = std::max(longest, load.seconds);
  return longest;
}

double Intensity(const ContendingJob& job, double communication_seconds) {
  return communication_seconds > 0 ? job.flop_per_iteration / communication_seconds : 0;
}

double IterationSeconds(const ContendingJob& job, double span_seconds) {
  return std::max(job.compute_seconds, FirstStart(job) * job.compute_seconds + span_seconds);
}

double IterationsBegun(const ContendingJob& job, double span_seconds, double window_seconds) {
  const double first = std::max((1 - FirstStart(job)) * job.compute_seconds, span_seconds);
  const double period = IterationSeconds(job, span_seconds);
  const double rest = std::max(0.0, window_seconds - first);
  const double whole = std::floor(rest / period);
  return whole + std::min(1.0, (rest - whole * period) / job.compute_seconds);
}

}  // namespace yardmaster::crux
