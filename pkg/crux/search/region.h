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
  Problem problem;                    // of `jobs`, in their order, with the links that they can use
  std::vector<ContendingJobId> jobs;  // of the whole problem; jobs[i] is job i of this one
  SearchState state;                  // paths and levels of its jobs
  // candidates[job][flow][path]: index of the path in the whole problem.
  std::vector<std::vector<std::vector<std::int32_t>>> candidates;
};

// Cuts a region out of a problem. A link loses the bandwidth that other jobs use, but keeps at
// least a tenth. Each flow keeps its path, the one in `fresh`, and others whose fullest link is
// least busy, together at most `max_candidates`. `fresh` exists because the least busy candidates
// of all flows below one switch use the same few uplinks.
//
// `jobs`: sorted. `busy`: fraction of time that each link is busy if every job runs at its speed
// without contention. `fresh`: entries of `jobs` are read; may be empty. Complexity: O(candidates
// of the jobs' flows * links).
Region CutRegion(const Problem& problem, const Draft& draft,
                 const std::vector<std::int32_t>& levels, const std::vector<double>& busy,
                 std::span<const ContendingJobId> jobs, std::int32_t max_candidates,
                 const Paths& fresh = {});

// Copies the region's state to that of the whole problem.
void PutBack(const Region& region, SearchState& whole);

// Returns for each job its pairs, as indices into `pairs`.
std::vector<std::vector<std::int32_t>> Neighbours(std::int32_t job_count,
                                                  std::span<const ContendingPair> pairs);

// The maximum size of a region.
struct RegionSize {
  std::size_t max_jobs = 0;
  std::size_t max_flows = 0;
};

// Returns `seed` and the jobs with which it shares links, those with the longest shared seconds
// first, sorted. A job is left out if its flows exceed `size`, or if it cannot be simulated
// together with those before it (ScheduleEvaluator::Fits); later jobs are still tried. `seed` is
// always included. `pairs_of`: the result of Neighbours for draft.pairs.
std::vector<ContendingJobId> Neighbourhood(const Problem& problem, ContendingJobId seed,
                                           const Draft& draft,
                                           const std::vector<std::vector<std::int32_t>>& pairs_of,
                                           const RegionSize& size);

}  // namespace yardmaster::crux
