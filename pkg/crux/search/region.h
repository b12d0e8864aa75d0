// Region is a part of a large problem that is searched as a separate problem: some of the jobs,
// links without the bandwidth that other jobs use, and for each flow only the promising candidates.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/draft.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/search/search_state.h"

namespace yardmaster::crux {

struct Region {
  Problem problem;                    // of `jobs`, in their order, on the links they can use
  std::vector<ContendingJobId> jobs;  // of the whole problem; jobs[i] is job i of this one
  SearchState state;                  // its jobs' paths and levels
  // candidates[job][flow][path]: the flow's path in the whole problem.
  std::vector<std::vector<std::vector<std::int32_t>>> candidates;
};

// `jobs` sorted; `busy`: share of time each link is busy if every job runs at its speed without
// contention. A link loses what jobs outside use, but keeps at least a tenth. Each flow keeps its
// path, the one in `fresh` (entries of `jobs` are read; may be empty) and others whose fullest link
// is least busy, together at most `max_candidates`. `fresh` is there because the least busy
// candidates of all flows below one switch lead over the same few uplinks.
// Complexity: O(candidates of the jobs' flows * links).
Region CutRegion(const Problem& problem, const Draft& draft,
                 const std::vector<std::int32_t>& levels, const std::vector<double>& busy,
                 std::span<const ContendingJobId> jobs, std::int32_t max_candidates,
                 const Paths& fresh = {});

// Writes the region's state into that of the whole problem.
void PutBack(const Region& region, SearchState& whole);

// For each job the pairs it is in, as indices into `pairs`.
std::vector<std::vector<std::int32_t>> Neighbours(std::int32_t job_count,
                                                  std::span<const ContendingPair> pairs);

// What a region may hold.
struct RegionSize {
  std::size_t max_jobs = 0;
  std::size_t max_flows = 0;
};

// `seed` and the jobs it shares links with, those with the longest shared seconds first, sorted. A
// job whose flows do not fit any more, or that cannot be simulated together with those before it
// (ScheduleEvaluator::Fits), is left out, and those behind it are tried. `seed` itself is always
// in. `pairs_of` as Neighbours gives it for draft.pairs.
std::vector<ContendingJobId> Neighbourhood(const Problem& problem, ContendingJobId seed,
                                           const Draft& draft,
                                           const std::vector<std::vector<std::int32_t>>& pairs_of,
                                           const RegionSize& size);

}  // namespace yardmaster::crux
