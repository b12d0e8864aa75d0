// Communication time and GPU intensity (section 2, Definition 2):
//   t_j = max over links e of M_{j,e} / B_e        I_j = W_j / t_j
// M_{j,e}: bytes of one iteration of job j on link e over the chosen paths; B_e: bytes per second.
// A flow that runs in every n-th iteration counts with an n-th of its bytes, the mean; one in the
// background does not count, since no iteration waits for it.
//
// Where flows of a job start at different instants, a link of it alone is done no sooner than
//   max over k of (start_k + what flows that start at start_k or later keep it busy)
// and the job's span is the longest of that over its links, from the first start on. With one start
// it is t_j.
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

// Fraction of compute after which `flow` of `job` may start.
double StartOf(const ContendingJob& job, const Flow& flow);
// The least StartOf of the job's flows; the job's own start where it has no flow.
double FirstStart(const ContendingJob& job);
// Whether all flows of the job have the same start.
bool StartsTogether(const ContendingJob& job);

// Bytes that a flow moves in an iteration, on average.
inline double MeanBytes(const Flow& flow) { return flow.bytes / flow.every_iterations; }

// How long a job alone keeps a link busy in one iteration.
struct LinkSeconds {
  std::int32_t link = 0;
  double seconds = 0;
};

enum class CountedFlows {
  kMean,            // as t_j counts them
  kEveryIteration,  // only those that hold up every iteration
};

// Adds up what jobs put on links, one job after the other on the same scratch space.
// Single threaded; `problem` must outlive it.
class LoadCounter {
 public:
  explicit LoadCounter(const Problem& problem, CountedFlows counted = CountedFlows::kMean)
      : problem_(problem), counted_(counted), bytes_(problem.links.size()) {}
  // On the space that TakeSpace of another counter returned; all entries are zero.
  LoadCounter(const Problem& problem, std::vector<double> space)
      : problem_(problem), counted_(CountedFlows::kMean), bytes_(std::move(space)) {
    bytes_.resize(problem.links.size(), 0);
  }
  // Gives up the scratch space. REQUIRES: the counter is not used after that.
  std::vector<double> TakeSpace() { return std::move(bytes_); }

  // Sorted by link, without flows in the background. `paths` has one entry per flow of `job`.
  // Complexity: O(L log L) in the links used.
  std::vector<LinkSeconds> Count(const ContendingJob& job, std::span<const std::int32_t> paths);
  // t_j, without the sorting.
  double CommunicationSeconds(const ContendingJob& job, std::span<const std::int32_t> paths);
  // The job's span, as defined above.
  double SpanSeconds(const ContendingJob& job, std::span<const std::int32_t> paths);

 private:
  // Flows that start at `start`, or all.
  void Add(const ContendingJob& job, std::span<const std::int32_t> paths,
           std::optional<double> start = {});
  double LongestSeconds() const;
  void Clear();

  const Problem& problem_;
  const CountedFlows counted_;
  std::vector<double> bytes_;
  std::vector<std::int32_t> touched_;
};

// As LoadCounter::Count, for one job.
std::vector<LinkSeconds> LinkLoads(const Problem& problem, const ContendingJob& job,
                                   std::span<const std::int32_t> paths);

// The longest of the loads, which is t_j; 0 where there are none.
double CommunicationSeconds(const std::vector<LinkSeconds>& loads);

// I_j; 0 for a job that does not communicate.
double Intensity(const ContendingJob& job, double communication_seconds);

// Length of an iteration without contention.
double IterationSeconds(const ContendingJob& job, double span_seconds);

// Whole and part iterations that a job alone begins after the one it is in, in a window that begins
// where its first flow may start.
double IterationsBegun(const ContendingJob& job, double span_seconds, double window_seconds);

}  // namespace yardmaster::crux
