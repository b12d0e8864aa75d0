// Assigns priorities (section 4.2): P_j = k_j * I_j, and the resulting order.
//
// k_j results from simulating job j and a reference job on one link, with each order of priority
// (pairwise_contention.h). The reference is the job with the most bytes per iteration: of all jobs
// as published; of the jobs of the contention component in production, because a job that shares no
// link with j says nothing about it.
//
// In production k is changed as follows:
//
//   - If only two jobs contend, k is used unchanged: it is what was simulated.
//   - Among more jobs, k is limited, and damped on full links. On a link that is not full, the
//     order decides which delays can be hidden behind compute. That is what k measures, and it
//     reaches its limits if one order costs nothing. On a full link every second that one job gains
//     another one loses. Then the most work is done if seconds go to the jobs with the most FLOP
//     per link second, which is I_j itself (a fractional knapsack): k tends to 1.
//     docs/evaluation/crux.md has measurements.
//
// A job whose flows start at several times is simulated as if all started with the first.
//
// Complexity: two bounded simulations per job. Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/contention.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/pairwise_contention.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct Priorities {
  std::vector<double> correction;
  std::vector<double> priority;
  // Every job once, highest priority first; ties by index.
  std::vector<ContendingJobId> order;
};

// The quantities on a job's chosen paths from which its intensity and correction are computed.
struct JobTraffic {
  double bytes = 0;  // of all flows, mean per iteration
  double communication_seconds = 0;
  double intensity = 0;
};

// `loads`: the result of LinkLoads.
JobTraffic TrafficOf(const ContendingJob& job, const std::vector<LinkSeconds>& loads);

struct CorrectionOptions {
  // As published: one reference for all jobs, and k limited only by kMinCorrection and
  // kMaxCorrection.
  bool published = false;
  double max_factor = 3;   // k is limited to [1 / max_factor, max_factor]
  double full_load = 0.9;  // if a job's fullest link is busier, k^full_exponent is used
  double full_exponent = 0.5;
};

// The contention of a job, on which its correction depends besides its traffic.
struct JobContention {
  std::int32_t component = 0;
  std::int32_t component_jobs = 1;
  // Fraction of time that its fullest link is busy with the traffic of all jobs.
  double fullest_load = 0;
};

// Returns the contention by job. `loads`, `pairs`: of the jobs' chosen paths.
std::vector<JobContention> ContentionOf(const Problem& problem,
                                        std::span<const std::vector<LinkSeconds>> loads,
                                        std::span<const ContendingPair> pairs);

// A cached correction factor of two timings.
struct KnownCorrection {
  IterationTiming reference;
  IterationTiming job;
  double factor = 0;  // 0: not cached
};

// `contention`: may be empty if options.published. `known`: optional cache with an entry per job,
// which is updated; the result does not depend on it.
Priorities AssignPriorities(const Problem& problem, std::span<const JobTraffic> traffic,
                            std::span<const JobContention> contention,
                            const CorrectionOptions& options = {},
                            std::vector<KnownCorrection>* known = nullptr);

// Returns priorities that descend along `order`, with the least squared change of the logarithms of
// `wanted`. Jobs of priority 0 come last.
Priorities FollowOrder(const Priorities& wanted, std::span<const double> intensities,
                       const std::vector<ContendingJobId>& order);

}  // namespace yardmaster::crux
