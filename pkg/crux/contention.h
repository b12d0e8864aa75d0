// The pairs of jobs that share a link (section 4.3). Jobs are nodes; a pair that shares at least
// one link contends. The relation splits the jobs into components that share no link: compression
// and level hysteresis work on one component at a time, and a job's reference (priority.h) comes
// from its own. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/intensity.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

// a < b, with the seconds that each keeps a link busy per iteration, on the shared link where the
// sum of both is greatest.
struct ContendingPair {
  ContendingJobId a;
  ContendingJobId b;
  double a_seconds = 0;
  double b_seconds = 0;
};

// loads[j] as LinkLoads gives it. Sorted by (a, b). Complexity: O(links + P log P), P counting a
// pair once for each link that it shares.
std::vector<ContendingPair> ContendingPairs(std::int32_t link_count,
                                            std::span<const std::vector<LinkSeconds>> loads);

// Leaves of each pair the entry of its fullest shared link, and sorts by (a, b).
void KeepFullestLinks(std::vector<ContendingPair>& pairs);

// Components of the relation, each sorted, ordered by their lowest job; a job that contends with
// no other is a component of its own.
std::vector<std::vector<ContendingJobId>> Components(std::int32_t job_count,
                                                     std::span<const ContendingPair> pairs);

// As Components, where two jobs are related if they have a link in common on any of their candidate
// paths, flows in the background included.
std::vector<std::vector<ContendingJobId>> PossibleComponents(const Problem& problem);

// The DAG: each pair as an edge from the job earlier in `order` to the later one, weighted with the
// intensity of the earlier. `order` lists every job once. Sorted by (from, to).
// REQUIRES: `pairs` sorted by (a, b), each pair once. Complexity: O(jobs + pairs).
std::vector<ContentionEdge> ContentionDag(std::span<const ContendingPair> pairs,
                                          std::span<const ContendingJobId> order,
                                          std::span<const double> intensities);

// Total weight of the edges whose two ends share a level.
double Loss(std::span<const ContentionEdge> edges, std::span<const std::int32_t> levels);

}  // namespace yardmaster::crux
