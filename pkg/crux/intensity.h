// Computes communication time and GPU intensity (section 2, Definition 2):
//
//   t_j = max over links e of M_{j,e} / B_e        I_j = W_j / t_j
//
// M_{j,e}: bytes of one iteration of job j on link e over the chosen paths; B_e: bytes per second.
// A flow that runs in every n-th iteration counts with an n-th of its bytes, the mean. A background
// flow does not count, because no iteration waits for it.
//
// If the flows of a job start at different times, a link that carries only this job is busy at
// least until
//
//   max over k of (start_k + seconds of the flows that start at start_k or later)
//
// The span of the job is the maximum of that over its links, measured from the first start. With
// one start it is t_j.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

inline double BytesPerSecond(const Link& link) { return link.gbps * 1e9 / 8; }

// Returns the fraction of compute after which `flow` of `job` may start.
double StartOf(const ContendingJob& job, const Flow& flow);
// Returns the least StartOf of the job's flows; the job's own start if it has no flow.
double FirstStart(const ContendingJob& job);
// Whether all flows of the job have the same start.
bool StartsTogether(const ContendingJob& job);

// Returns the mean bytes of a flow per iteration.
inline double MeanBytes(const Flow& flow) { return flow.bytes / flow.every_iterations; }

// How many seconds per iteration a job keeps a link busy without contention.
struct LinkSeconds {
  std::int32_t link = 0;
  double seconds = 0;
};

enum class CountedFlows {
  kMean,            // all flows, as for t_j
  kEveryIteration,  // only flows for which every iteration waits
};

// Counts the load of jobs on links, one job after the other in the same scratch space. `problem`
// must outlive it. Thread safety: one thread.
class LoadCounter {
 public:
  explicit LoadCounter(const Problem& problem, CountedFlows counted = CountedFlows::kMean)
      : problem_(problem), counted_(counted), bytes_(problem.links.size()) {}
  // Uses the space that TakeSpace of another counter returned; its entries are zero.
  LoadCounter(const Problem& problem, std::vector<double> space)
      : problem_(problem), counted_(CountedFlows::kMean), bytes_(std::move(space)) {
    bytes_.resize(problem.links.size(), 0);
  }
  // Returns the scratch space. REQUIRES: the counter is not used afterwards.
  std::vector<double> TakeSpace() { return std::move(bytes_); }

  // Returns the loads sorted by link, without background flows. `paths`: one entry per flow of
  // `job`. Complexity: O(L log L) in the links used.
  std::vector<LinkSeconds> Count(const ContendingJob& job, std::span<const std::int32_t> paths);
  // Returns t_j, without sorting.
  double CommunicationSeconds(const ContendingJob& job, std::span<const std::int32_t> paths);
  // Returns the job's span, as defined above.
  double SpanSeconds(const ContendingJob& job, std::span<const std::int32_t> paths);

 private:
  // Adds the flows that start at `start`, or all flows.
  void Add(const ContendingJob& job, std::span<const std::int32_t> paths,
           std::optional<double> start = {});
  double LongestSeconds() const;
  void Clear();

  const Problem& problem_;
  const CountedFlows counted_;
  std::vector<double> bytes_;
  std::vector<std::int32_t> touched_;
};

// Like LoadCounter::Count, for one job.
std::vector<LinkSeconds> LinkLoads(const Problem& problem, const ContendingJob& job,
                                   std::span<const std::int32_t> paths);

// Returns the maximum of the loads, which is t_j; 0 without loads.
double CommunicationSeconds(const std::vector<LinkSeconds>& loads);

// Returns I_j; 0 for a job that does not communicate.
double Intensity(const ContendingJob& job, double communication_seconds);

// Returns the seconds of an iteration without contention.
double IterationSeconds(const ContendingJob& job, double span_seconds);

// Returns how many iterations, whole and in part, a job without contention begins after the present
// one, in a window that starts when its first flow may start.
double IterationsBegun(const ContendingJob& job, double span_seconds, double window_seconds);

}  // namespace yardmaster::crux
