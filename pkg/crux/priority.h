// Priority assignment (section 4.2): P_j = k_j * I_j, and the order that follows from it.
//
// A job whose flows start at several instants is played as if all of them started with the first;
// docs/crux.md has what it was worth to play each at its own.
//
// One reference job (most bytes per iteration) has k = 1; each other job is played against it on
// one link (pair_play.h).
//
// Complexity: a play is a bounded number of steps; n plays. Deterministic. Thread safety: pure
// functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/intensity.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct Priorities {
  std::vector<double> correction;
  std::vector<double> priority;
  // Every job once, highest priority first; equal ones by index.
  std::vector<std::int32_t> order;
};

// What the paper's two numbers of a job are computed from, on its chosen paths.
struct JobTraffic {
  double bytes = 0;  // of all flows, in an iteration on average
  double communication_seconds = 0;
  double intensity = 0;
};

JobTraffic TrafficOf(const Job& job, const std::vector<LinkSeconds>& loads);

Priorities AssignPriorities(const Problem& problem, std::span<const JobTraffic> traffic);

// As AssignPriorities where only `changed` jobs (sorted) are new: the others keep their correction
// `former[j]`. Complexity: plays only for the changed jobs.
Priorities InsertPriorities(const Problem& problem, std::span<const JobTraffic> traffic,
                            std::span<const double> former, std::span<const std::int32_t> changed);

// Priorities that follow `order`, nearest to `wanted`.
Priorities FollowOrder(const Priorities& wanted, std::span<const double> intensities,
                       const std::vector<std::int32_t>& order);

}  // namespace yardmaster::crux
