// Priority assignment (section 4.2): P_j = k_j * I_j, and the order that follows from it.
//
// k_j is the outcome of simulating job j and a reference job on one link, each before the other
// (pairwise_contention.h). The reference is the job with most bytes per iteration: of all jobs as
// published, of the jobs of one contention component in production, since a job that shares no link
// with j says nothing about it.
//
// Production uses k unchanged where only two jobs contend, since then it is what was simulated.
// Among more it is bounded, and damped on full links: on a link that is not full, the order decides
// which delays can be hidden behind compute, which is what k measures, and it runs to its limits
// where one order costs nothing. On a full link every second that one job gains another one loses,
// and the work done is greatest when seconds go to the jobs with most FLOP per link second, which
// is I_j itself (a fractional knapsack): k tends to 1. docs/evaluation/crux.md has what was
// measured.
//
// A job whose flows start at several instants is simulated as if all of them started with the
// first. Complexity: two bounded simulations per job. Deterministic. Thread safety: pure functions.
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
  // Every job once, highest priority first; equal ones by index.
  std::vector<ContendingJobId> order;
};

// What the paper's two numbers of a job are computed from, on its chosen paths.
struct JobTraffic {
  double bytes = 0;  // of all flows, in an iteration on average
  double communication_seconds = 0;
  double intensity = 0;
};

// `loads` as LinkLoads gives them.
JobTraffic TrafficOf(const ContendingJob& job, const std::vector<LinkSeconds>& loads);

struct CorrectionOptions {
  // One reference for all jobs and k unbounded but for kMinCorrection and kMaxCorrection.
  bool published = false;
  double max_factor = 3;   // k is kept within [1 / max_factor, max_factor]
  double full_load = 0.9;  // where the fullest link of a job carries more, k^full_exponent counts
  double full_exponent = 0.5;
};

// What the correction of a job depends on besides its traffic.
struct JobContention {
  std::int32_t component = 0;
  std::int32_t component_jobs = 1;
  // Share of time the fullest of its links is busy with the traffic of all jobs.
  double fullest_load = 0;
};

// By job. `loads` and `pairs` are those of the jobs' chosen paths.
std::vector<JobContention> ContentionOf(const Problem& problem,
                                        std::span<const std::vector<LinkSeconds>> loads,
                                        std::span<const ContendingPair> pairs);

// The correction factor that two timings gave, so that it need not be simulated again.
struct KnownCorrection {
  IterationTiming reference;
  IterationTiming job;
  double factor = 0;  // 0: none known
};

// `contention` may be empty where options.published. `known`, if given, has an entry per job, and
// is brought up to date; the answer does not depend on it.
Priorities AssignPriorities(const Problem& problem, std::span<const JobTraffic> traffic,
                            std::span<const JobContention> contention,
                            const CorrectionOptions& options = {},
                            std::vector<KnownCorrection>* known = nullptr);

// Priorities that fall along `order` with the least squared change of the logarithms of `wanted`.
// Jobs of priority 0 go to the end.
Priorities FollowOrder(const Priorities& wanted, std::span<const double> intensities,
                       const std::vector<ContendingJobId>& order);

}  // namespace yardmaster::crux
