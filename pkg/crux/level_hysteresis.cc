#include "pkg/crux/level_hysteresis.h"

#include <algorithm>
#include <cstddef>

#include "pkg/crux/contention.h"

namespace yardmaster::crux {
namespace {

// Costs that differ by less are one cost added up in another order.
constexpr double kSameCost = 1e-9;
constexpr int kMaxRestoreRounds = 20;

double PairCost(double weight, std::int32_t from, std::int32_t to) {
  if (from > to) return 0;
  return from == to ? weight : 2 * weight;
}

class Holder {
 public:
  Holder(std::span<const ContentionEdge> edges, std::int32_t levels, const HeldLevels& held)
      : edges_(edges), levels_(levels), held_(held), of_job_(held.levels.size()) {
    for (std::size_t e = 0; e < edges.size(); ++e) {
      of_job_[edges[e].from.index()].push_back(static_cast<std::int32_t>(e));
      of_job_[edges[e].to.index()].push_back(static_cast<std::int32_t>(e));
    }
  }

  bool Knows(ContendingJobId j) const {
    return held_.levels[j.index()] >= 0 && held_.levels[j.index()] < levels_;
  }

  // Cost of the pairs of job j with those that have a level in `now`.
  double CostOf(ContendingJobId j, std::int32_t level, const std::vector<std::int32_t>& now) const {
    double cost = 0;
    for (const std::int32_t e : of_job_[j.index()]) {
      const ContentionEdge& edge = edges_[e];
      const std::int32_t other = now[(edge.from == j ? edge.to : edge.from).index()];
      if (other < 0) continue;
      cost += edge.from == j ? PairCost(edge.weight, level, other)
                             : PairCost(edge.weight, other, level);
    }
    return cost;
  }

  // All running jobs where they are, new ones where they cost least (the highest of equals).
  void Keep(std::span<const ContendingJobId> jobs, std::vector<std::int32_t>& now) const {
    for (const ContendingJobId j : jobs) now[j.index()] = Knows(j) ? held_.levels[j.index()] : -1;
    for (const ContendingJobId j : jobs) {
      if (Knows(j)) continue;
      std::int32_t best = levels_ - 1;
      double best_cost = CostOf(j, best, now);
      for (std::int32_t level = levels_ - 2; level >= 0; --level) {
        const double cost = CostOf(j, level, now);
        if (cost < best_cost * (1 - kSameCost)) {
          best = level;
          best_cost = cost;
        }
      }
      now[j.index()] = best;
    }
  }

  // Moves jobs back to the level they had as long as that costs nothing.
  void Restore(std::span<const ContendingJobId> jobs, std::vector<std::int32_t>& now) const {
    bool moved = true;
    for (int round = 0; moved && round < kMaxRestoreRounds; ++round) {
      moved = false;
      for (const ContendingJobId j : jobs) {
        if (!Knows(j) || now[j.index()] == held_.levels[j.index()]) continue;
        const double before = CostOf(j, now[j.index()], now);
        if (CostOf(j, held_.levels[j.index()], now) > before * (1 + kSameCost)) continue;
        now[j.index()] = held_.levels[j.index()];
        moved = true;
      }
    }
  }

  // Of all pairs inside `jobs`, and their weight.
  double Cost(std::span<const ContendingJobId> jobs, const std::vector<std::int32_t>& now) const {
    double cost = 0;
    for (const ContendingJobId j : jobs) {
      for (const std::int32_t e : of_job_[j.index()]) {
        if (edges_[e].from == j)
          cost += PairCost(edges_[e].weight, now[j.index()], now[edges_[e].to.index()]);
      }
    }
    return cost;
  }
  double Weight(std::span<const ContendingJobId> jobs) const {
    double weight = 0;
    for (const ContendingJobId j : jobs) {
      for (const std::int32_t e : of_job_[j.index()])
        weight += edges_[e].from == j ? edges_[e].weight : 0;
    }
    return weight;
  }

 private:
  const std::span<const ContentionEdge> edges_;
  const std::int32_t levels_;
  const HeldLevels& held_;
  std::vector<std::vector<std::int32_t>> of_job_;  // edges
};

}  // namespace

std::vector<std::int32_t> HoldLevels(std::span<const ContentionEdge> edges, std::int32_t levels,
                                     const HeldLevels& held, const std::vector<std::int32_t>& fresh,
                                     double hysteresis) {
  const Holder holder(edges, levels, held);
  std::vector<ContendingPair> pairs;
  for (const ContentionEdge& edge : edges) pairs.push_back({edge.from, edge.to, 0, 0});
  std::vector<std::int32_t> result = fresh;
  std::vector<std::int32_t> kept = fresh;
  for (const auto& jobs : Components(static_cast<std::int32_t>(fresh.size()), pairs)) {
    holder.Keep(jobs, kept);
    const bool affected = std::any_of(jobs.begin(), jobs.end(), [&](ContendingJobId j) {
      return held.affected[j.index()] != 0 || !holder.Knows(j);
    });
    const double most = holder.Cost(jobs, fresh) + hysteresis * holder.Weight(jobs);
    if (!affected || holder.Cost(jobs, kept) <= most * (1 + kSameCost)) {
      for (const ContendingJobId j : jobs) result[j.index()] = kept[j.index()];
    } else {
      holder.Restore(jobs, result);
    }
  }
  return result;
}

}  // namespace yardmaster::crux
