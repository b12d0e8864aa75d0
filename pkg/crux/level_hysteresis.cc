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
      of_job_[edges[e].from].push_back(static_cast<std::int32_t>(e));
      of_job_[edges[e].to].push_back(static_cast<std::int32_t>(e));
    }
  }

  bool Knows(std::int32_t j) const { return held_.levels[j] >= 0 && held_.levels[j] < levels_; }

  // Cost of the pairs of job j with those that have a level in `now`.
  double CostOf(std::int32_t j, std::int32_t level, const std::vector<std::int32_t>& now) const {
    double cost = 0;
    for (const std::int32_t e : of_job_[j]) {
      const ContentionEdge& edge = edges_[e];
      const std::int32_t other = now[edge.from == j ? edge.to : edge.from];
      if (other < 0) continue;
      cost += edge.from == j ? PairCost(edge.weight, level, other)
                             : PairCost(edge.weight, other, level);
    }
    return cost;
  }

  // All running jobs where they are, new ones where they cost least (the highest of equals).
  void Keep(std::span<const std::int32_t> jobs, std::vector<std::int32_t>& now) const {
    for (const std::int32_t j : jobs) now[j] = Knows(j) ? held_.levels[j] : -1;
    for (const std::int32_t j : jobs) {
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
      now[j] = best;
    }
  }

  // Moves jobs back to the level they had as long as that costs nothing.
  void Restore(std::span<const std::int32_t> jobs, std::vector<std::int32_t>& now) const {
    bool moved = true;
    for (int round = 0; moved && round < kMaxRestoreRounds; ++round) {
      moved = false;
      for (const std::int32_t j : jobs) {
        if (!Knows(j) || now[j] == held_.levels[j]) continue;
        const double before = CostOf(j, now[j], now);
        if (CostOf(j, held_.levels[j], now) > before * (1 + kSameCost)) continue;
        now[j] = held_.levels[j];
        moved = true;
      }
    }
  }

  // Of all pairs inside `jobs`, and their weight.
  double Cost(std::span<const std::int32_t> jobs, const std::vector<std::int32_t>& now) const {
    double cost = 0;
    for (const std::int32_t j : jobs) {
      for (const std::int32_t e : of_job_[j]) {
        if (edges_[e].from == j) cost += PairCost(edges_[e].weight, now[j], now[edges_[e].to]);
      }
    }
    return cost;
  }
  double Weight(std::span<const std::int32_t> jobs) const {
    double weight = 0;
    for (const std::int32_t j : jobs) {
      for (const std::int32_t e : of_job_[j]) weight += edges_[e].from == j ? edges_[e].weight : 0;
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

double LevelCost(std::span<const ContentionEdge> edges, std::span<const std::int32_t> levels) {
  double cost = 0;
  for (const ContentionEdge& edge : edges) {
    cost += PairCost(edge.weight, levels[edge.from], levels[edge.to]);
  }
  return cost;
}

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
    const bool affected = std::any_of(jobs.begin(), jobs.end(), [&](std::int32_t j) {
      return held.affected[j] != 0 || !holder.Knows(j);
    });
    const double most = holder.Cost(jobs, fresh) + hysteresis * holder.Weight(jobs);
    if (!affected || holder.Cost(jobs, kept) <= most * (1 + kSameCost)) {
      for (const std::int32_t j : jobs) result[j] = kept[j];
    } else {
      holder.Restore(jobs, result);
    }
  }
  return result;
}

}  // namespace yardmaster::crux
