// Computes which pairs of jobs contend, that is, share at least one link (section 4.3).
//
// The relation divides the jobs into components that share no link. Compression and level
// hysteresis work on one component at a time, and the reference of a job (priority.h) is in its
// component.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/intensity.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

// Two jobs, a < b, and for how many seconds per iteration each uses the shared link on which the
// sum of both is greatest.
struct ContendingPair {
  ContendingJobId a;
  ContendingJobId b;
  double a_seconds = 0;
  double b_seconds = 0;
};

// `loads`: LinkLoads by job. Returns the pairs sorted by (a, b). Complexity: O(links + P log P),
// where P counts a pair once for each shared link.
std::vector<ContendingPair> ContendingPairs(std::int32_t link_count,
                                            std::span<const std::vector<LinkSeconds>> loads);

// Keeps for each pair the entry of its fullest shared link, and sorts by (a, b).
void KeepFullestLinks(std::vector<ContendingPair>& pairs);

// Returns the components, each sorted, ordered by their lowest job. A job that contends with no
// other is its own component.
std::vector<std::vector<ContendingJobId>> Components(std::int32_t job_count,
                                                     std::span<const ContendingPair> pairs);

// Like Components, but two jobs are related if any of their candidate paths have a common link,
// background flows included.
std::vector<std::vector<ContendingJobId>> PossibleComponents(const Problem& problem);

// Returns the DAG: for each pair an edge from the job earlier in `order` to the later one, with the
// intensity of the earlier as weight. Sorted by (from, to). `order` lists every job once. REQUIRES:
// `pairs` sorted by (a, b), each pair once. Complexity: O(jobs + pairs).
std::vector<ContentionEdge> ContentionDag(std::span<const ContendingPair> pairs,
                                          std::span<const ContendingJobId> order,
                                          std::span<const double> intensities);

// Returns the total weight of the edges whose ends share a level.
double Loss(std::span<const ContentionEdge> edges, std::span<const std::int32_t> levels);

}  // namespace yardmaster::crux
