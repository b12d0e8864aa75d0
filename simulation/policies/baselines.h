// The schedulers that Crux is measured against, each as its authors describe it, mapped to paths,
// K levels and start offsets. DecideBy (policies.h) fills in what they do not specify as for ECMP:
// random paths, one level. Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/contention.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

// Sincronia (SIGCOMM 2018), bottleneck-select-scale-iterate with unit weights: on the most loaded
// link, the job with the largest demand per weight goes last; the others' weights shrink by their
// share; again with the rest. Returns every job, first to last. Complexity: O(n * (n + L)) + the
// squared number of users of each link.
std::vector<ContendingJobId> SincroniaOrder(std::int32_t link_count,
                                            std::span<const std::vector<LinkSeconds>> loads);
// The first K-1 jobs get a level each, the rest share the lowest.
std::vector<std::int32_t> LevelPerJob(std::span<const ContendingJobId> order, std::int32_t levels);

// Varys (SIGCOMM 2014): smallest effective bottleneck first, which is t_j.
std::vector<ContendingJobId> VarysOrder(std::span<const std::vector<LinkSeconds>> loads);
// Levels hold equal numbers of jobs, up to one.
std::vector<std::int32_t> BalancedLevels(std::span<const ContendingJobId> order,
                                         std::int32_t levels);

// TACCL* (NSDI 2023 as adapted in the Crux paper): flows with longer distance first, then larger
// ones, each on the path whose fullest link, then sum of links, carries least; jobs with a longer
// distance get a higher level, those beyond K distances the lowest.
// The adaptation leaves open when it is applied.
enum class TacclReading {
  kGlobal,     // all jobs together, again at every event: the strongest
  kAtArrival,  // a job when it arrives, given the loads of the others, and never again
  kPerJob,     // a job when it arrives, for itself, as a synthesizer of one job's collectives does
};
struct TacclPlan {
  Paths paths;
  std::vector<std::int32_t> levels;
};
// `held`: paths of jobs that arrived before, empty for a new one; only for readings but kGlobal.
TacclPlan TacclSchedule(const Problem& problem, std::int32_t levels,
                        TacclReading reading = TacclReading::kGlobal, const Paths& held = {});

// CASSINI (NSDI 2024): one level; each job starts with an offset such that on shared links the
// communication of one falls into the computation of another. Jobs are shifted one after the other,
// breadth first over the contention graph, then again until nothing moves, at most four times; a
// shift is one of 72 steps around the circle and is rated by the overlap over the next ten of the
// slower iterations. Returns the offset of each job in seconds.
std::vector<double> CassiniOffsets(const Problem& problem,
                                   std::span<const std::vector<LinkSeconds>> loads,
                                   std::span<const ContendingPair> pairs);

}  // namespace yardmaster::crux
