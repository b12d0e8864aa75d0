// Communication time and GPU intensity (section 2, Definition 2):
//   t_j = max over links e of M_{j,e} / B_e        I_j = W_j / t_j
// M_{j,e}: bytes of one iteration of job j on link e over the chosen paths; B_e: bytes per second.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

inline double BytesPerSecond(const Link& link) { return link.gbps * 1e9 / 8; }

// How long a job alone keeps a link busy in one iteration.
struct LinkSeconds {
  std::int32_t link = 0;
  double seconds = 0;
};

// Adds up what jobs put on links, one job after the other on the same scratch space.
// Single threaded; `problem` must outlive it.
class LoadCounter {
 public:
  explicit LoadCounter(const Problem& problem) : problem_(problem), bytes_(problem.links.size()) {}

  // Sorted by link. `paths` has one entry per flow of `job`. Complexity: O(L log L) in the links
  // used.
  std::vector<LinkSeconds> Count(const Job& job, std::span<const std::int32_t> paths);
  // t_j alone, without the sorting.
  double CommunicationSeconds(const Job& job, std::span<const std::int32_t> paths);

 private:
  void Add(const Job& job, std::span<const std::int32_t> paths);

  const Problem& problem_;
  std::vector<double> bytes_;
  std::vector<std::int32_t> touched_;
};

// As LoadCounter::Count, for one job.
std::vector<LinkSeconds> LinkLoads(const Problem& problem, const Job& job,
                                   std::span<const std::int32_t> paths);

// 0 for a job without flows.
double CommunicationSeconds(const std::vector<LinkSeconds>& loads);

// 0 for a job that does not communicate: it asks nothing of the network.
double Intensity(const Job& job, double communication_seconds);

// Length of an iteration with nobody in the way.
double IterationSeconds(const Job& job, double communication_seconds);

}  // namespace yardmaster::crux
