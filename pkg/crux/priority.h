// Priority assignment (section 4.2): P_j = k_j * I_j, and the order that follows from it.
//
// A job whose flows start at several instants is played as if all of them started with the first;
// docs/crux.md has what it was worth to play each at its own.
//
// kReference is the paper: one reference job (most bytes per iteration, k = 1), each other job
// played against it on one link. kPairwise goes on from there and mends what the paper lists as its
// limit, that one reference stands for every contender: each pair that really shares a link is
// played on its fullest shared link, which gives cost(a before b) = the FLOP/s that b loses; the
// order is then improved by moving one job at a time to its cheapest place until none moves
// (linear ordering by insertion). Where the order departs from the paper's, P is changed as little
// as a decreasing sequence allows (pooling adjacent violators on a logarithmic scale) and k = P / I
// follows.
//
// Complexity: a play is a bounded number of steps; n plays, and with kPairwise one per contending
// pair, then O(sweeps * (E log E + n * moves)). Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/contention.h"
#include "pkg/crux/pair_play.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

enum class PriorityMethod { kReference, kPairwise };

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

Priorities AssignPriorities(const Problem& problem, std::span<const JobTraffic> traffic,
                            std::span<const ContendingPair> pairs, PriorityMethod method);

// As AssignPriorities where only `changed` jobs (sorted) are new: the others keep their correction
// `former[j]` and their order among themselves, each changed job is put into its cheapest place.
// Complexity: plays only for the changed jobs and their contenders.
Priorities InsertPriorities(const Problem& problem, std::span<const JobTraffic> traffic,
                            std::span<const ContendingPair> pairs, PriorityMethod method,
                            std::span<const double> former, std::span<const std::int32_t> changed);

// Priorities that follow `order`, nearest to `wanted`.
Priorities FollowOrder(const Priorities& wanted, std::span<const double> intensities,
                       const std::vector<std::int32_t>& order);

// FLOP/s lost by the second of a pair; jobs[first] goes first on the link both share.
struct OrderCost {
  double a_first = 0;  // what b loses
  double b_first = 0;  // what a loses
};
OrderCost CostOfOrder(const Problem& problem, std::span<const JobTraffic> traffic,
                      const ContendingPair& pair);

}  // namespace yardmaster::crux
