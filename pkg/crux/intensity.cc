#include "pkg/crux/intensity.h"

#include <algorithm>

namespace yardmaster::crux {

void LoadCounter::Add(const Job& job, std::span<const std::int32_t> paths) {
  touched_.clear();
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    for (const std::int32_t link : job.flows[f].paths[paths[f]]) {
      if (bytes_[link] == 0) touched_.push_back(link);
      bytes_[link] += job.flows[f].bytes;
    }
  }
}

std::vector<LinkSeconds> LoadCounter::Count(const Job& job, std::span<const std::int32_t> paths) {
  Add(job, paths);
  std::sort(touched_.begin(), touched_.end());
  std::vector<LinkSeconds> loads;
  loads.reserve(touched_.size());
  for (const std::int32_t link : touched_) {
    loads.push_back({link, bytes_[link] / BytesPerSecond(problem_.links[link])});
    bytes_[link] = 0;
  }
  return loads;
}

double LoadCounter::CommunicationSeconds(const Job& job, std::span<const std::int32_t> paths) {
  Add(job, paths);
  double longest = 0;
  for (const std::int32_t link : touched_) {
    longest = std::max(longest, bytes_[link] / BytesPerSecond(problem_.links[link]));
    bytes_[link] = 0;
  }
  return longest;
}

std::vector<LinkSeconds> LinkLoads(const Problem& problem, const Job& job,
                                   std::span<const std::int32_t> paths) {
  return LoadCounter(problem).Count(job, paths);
}

double CommunicationSeconds(const std::vector<LinkSeconds>& loads) {
  double longest = 0;
  for (const LinkSeconds& load : loads) longest = std::max(longest, load.seconds);
  return longest;
}

double Intensity(const Job& job, double communication_seconds) {
  return communication_seconds > 0 ? job.flop_per_iteration / communication_seconds : 0;
}

double IterationSeconds(const Job& job, double communication_seconds) {
  return std::max(job.compute_seconds,
                  job.communication_start * job.compute_seconds + communication_seconds);
}

}  // namespace yardmaster::crux
