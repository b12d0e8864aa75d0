#include "pkg/crux/priority.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace yardmaster::crux {
namespace {

constexpr int kMaxSweeps = 20;
// A delay suffered once counts as if spread over this many iterations: it only breaks ties.
constexpr double kIterationsOfInterest = 100;
constexpr double kStrictly = 1 - 1e-9;

Rhythm RhythmOf(const Job& job, const JobTraffic& traffic, double link_seconds) {
  return {job.compute_seconds, FirstStart(job), traffic.communication_seconds, link_seconds};
}

std::vector<std::int32_t> OrderByPriority(std::span<const double> priority) {
  std::vector<std::int32_t> order(priority.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return priority[a] > priority[b]; });
  return order;
}

// Corrections against the job with most traffic.
class Reference {
 public:
  Reference(const Problem& problem, std::span<const JobTraffic> traffic)
      : problem_(problem), traffic_(traffic) {
    for (std::size_t j = 1; j < traffic.size(); ++j) {
      if (traffic[j].bytes > traffic[job_].bytes) job_ = j;
    }
    if (!traffic.empty()) rhythm_ = Alone(job_);
  }

  double CorrectionOf(std::size_t j) const {
    if (j == job_ || traffic_[j].communication_seconds <= 0) return 1;
    return CorrectionFactor(rhythm_, Alone(j));
  }

 private:
  Rhythm Alone(std::size_t j) const {
    return RhythmOf(problem_.jobs[j], traffic_[j], traffic_[j].communication_seconds);
  }

  const Problem& problem_;
  const std::span<const JobTraffic> traffic_;
  std::size_t job_ = 0;
  Rhythm rhythm_;
};

Priorities FromCorrections(std::vector<double> correction, std::span<const JobTraffic> traffic) {
  Priorities result{std::move(correction), {}, {}};
  for (std::size_t j = 0; j < traffic.size(); ++j) {
    result.priority.push_back(result.correction[j] * traffic[j].intensity);
  }
  result.order = OrderByPriority(result.priority);
  return result;
}

double LostFlopRate(const Job& job, const Rhythm& rhythm, const SecondPlace& second) {
  const double period = rhythm.Period();
  const double once = second.first_delay_seconds / (kIterationsOfInterest * period);
  return job.flop_per_iteration / period * (second.SpeedLoss() + once);
}

// One contender of a job: what their order costs either way.
struct Neighbour {
  std::int32_t job;
  double cost_before;  // the job first: what the neighbour loses
  double cost_after;   // the neighbour first: what the job loses
};

class OrderImprover {
 public:
  OrderImprover(std::vector<std::vector<Neighbour>> neighbours, std::vector<std::int32_t> order)
      : neighbours_(std::move(neighbours)), order_(std::move(order)), position_(order_.size()) {
    for (std::size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  }

  std::vector<std::int32_t> Run() {
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      bool moved = false;
      const std::vector<std::int32_t> walk = order_;
      for (const std::int32_t job : walk) moved |= MoveToBestPlace(job);
      if (!moved) break;
    }
    return order_;
  }

 private:
  bool MoveToBestPlace(std::int32_t job) {
    auto& around = neighbours_[job];
    if (around.empty()) return false;
    std::sort(around.begin(), around.end(), [&](const Neighbour& x, const Neighbour& y) {
      return position_[x.job] < position_[y.job];
    });
    double cost = 0;  // ahead of all of them
    double scale = 0;
    for (const Neighbour& n : around) {
      cost += n.cost_before;
      scale += n.cost_before + n.cost_after;
    }
    double best = cost;
    double here = cost;
    std::size_t best_place = 0;
    for (std::size_t k = 0; k < around.size(); ++k) {
      cost += around[k].cost_after - around[k].cost_before;
      if (position_[around[k].job] < position_[job]) here = cost;
      if (cost < best) {
        best = cost;
        best_place = k + 1;
      }
    }
    if (here - best <= 1e-9 * scale) return false;
    const std::size_t from = position_[job];
    // Right behind neighbour best_place - 1, or right before the first one.
    std::size_t to =
        best_place == 0 ? position_[around[0].job] : position_[around[best_place - 1].job] + 1;
    if (to > from) --to;
    Shift(from, to);
    return true;
  }

  void Shift(std::size_t from, std::size_t to) {
    const auto begin = order_.begin();
    if (from < to) {
      std::rotate(begin + from, begin + from + 1, begin + to + 1);
    } else {
      std::rotate(begin + to, begin + from, begin + from + 1);
    }
    for (std::size_t i = std::min(from, to); i <= std::max(from, to); ++i) {
      position_[order_[i]] = i;
    }
  }

  std::vector<std::vector<Neighbour>> neighbours_;
  std::vector<std::int32_t> order_;
  std::vector<std::size_t> position_;
};

// Pools of equal value that make `logs` non-increasing at the least squared change.
std::vector<double> PoolViolators(const std::vector<double>& logs) {
  struct Pool {
    double sum;
    std::size_t size;
    double Mean() const { return sum / static_cast<double>(size); }
  };
  std::vector<Pool> pools;
  for (const double value : logs) {
    Pool pool{value, 1};
    while (!pools.empty() && pools.back().Mean() < pool.Mean()) {
      pool.sum += pools.back().sum;
      pool.size += pools.back().size;
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  std::vector<double> values;
  for (const Pool& pool : pools) values.insert(values.end(), pool.size, pool.Mean());
  return values;
}

// Moves the marked jobs to their cheapest places.
Priorities Improve(const Problem& problem, std::span<const JobTraffic> traffic,
                   std::span<const ContendingPair> pairs, const std::vector<char>& moves,
                   const Priorities& start) {
  std::vector<std::vector<Neighbour>> neighbours(traffic.size());
  for (const ContendingPair& pair : pairs) {
    if (!moves[pair.a] && !moves[pair.b]) continue;
    const OrderCost cost = CostOfOrder(problem, traffic, pair);
    if (moves[pair.a]) neighbours[pair.a].push_back({pair.b, cost.a_first, cost.b_first});
    if (moves[pair.b]) neighbours[pair.b].push_back({pair.a, cost.b_first, cost.a_first});
  }
  std::vector<double> intensities;
  for (const JobTraffic& t : traffic) intensities.push_back(t.intensity);
  const std::vector<std::int32_t> order = OrderImprover(std::move(neighbours), start.order).Run();
  return FollowOrder(start, intensities, order);
}

}  // namespace

JobTraffic TrafficOf(const Job& job, const std::vector<LinkSeconds>& loads) {
  JobTraffic traffic;
  for (const Flow& flow : job.flows) traffic.bytes += MeanBytes(flow);
  traffic.communication_seconds = CommunicationSeconds(loads);
  traffic.intensity = Intensity(job, traffic.communication_seconds);
  return traffic;
}

OrderCost CostOfOrder(const Problem& problem, std::span<const JobTraffic> traffic,
                      const ContendingPair& pair) {
  const Job& a = problem.jobs[pair.a];
  const Job& b = problem.jobs[pair.b];
  const Rhythm a_rhythm = RhythmOf(a, traffic[pair.a], pair.a_seconds);
  const Rhythm b_rhythm = RhythmOf(b, traffic[pair.b], pair.b_seconds);
  return {LostFlopRate(b, b_rhythm, PlaySecond(a_rhythm, b_rhythm)),
          LostFlopRate(a, a_rhythm, PlaySecond(b_rhythm, a_rhythm))};
}

Priorities FollowOrder(const Priorities& wanted, std::span<const double> intensities,
                       const std::vector<std::int32_t>& order) {
  Priorities result = wanted;
  // A job that sends nothing has priority 0 and no say; it goes to the end.
  std::vector<std::int32_t> sending;
  std::vector<double> logs;
  for (const std::int32_t j : order) {
    if (wanted.priority[j] <= 0) continue;
    sending.push_back(j);
    logs.push_back(std::log(wanted.priority[j]));
  }
  const std::vector<double> pooled = PoolViolators(logs);
  for (std::size_t i = 0; i < sending.size(); ++i) {
    const std::int32_t j = sending[i];
    // A job in a pool of its own keeps its exact value, and exact ties go by index. Everybody else
    // gets a value clearly below the one before, which survives being divided by I and multiplied
    // again.
    const bool pooled_value = pooled[i] != logs[i];
    if (pooled_value) result.priority[j] = std::exp(pooled[i]);
    if (i > 0) {
      const std::int32_t before = sending[i - 1];
      const double above = result.priority[before];
      const bool exact_tie = !pooled_value && above == wanted.priority[before] &&
                             result.priority[j] == above && before < j;
      if (!exact_tie && result.priority[j] > above * kStrictly) {
        result.priority[j] = above * kStrictly;
      }
    }
    if (result.priority[j] != wanted.priority[j]) {
      result.correction[j] = result.priority[j] / intensities[j];
    }
  }
  result.order = OrderByPriority(result.priority);
  return result;
}

Priorities AssignPriorities(const Problem& problem, std::span<const JobTraffic> traffic,
                            std::span<const ContendingPair> pairs, PriorityMethod method) {
  const Reference reference(problem, traffic);
  std::vector<double> correction;
  for (std::size_t j = 0; j < traffic.size(); ++j) correction.push_back(reference.CorrectionOf(j));
  Priorities priorities = FromCorrections(std::move(correction), traffic);
  if (method != PriorityMethod::kPairwise) return priorities;
  const std::vector<char> all(traffic.size(), 1);
  return Improve(problem, traffic, pairs, all, priorities);
}

Priorities InsertPriorities(const Problem& problem, std::span<const JobTraffic> traffic,
                            std::span<const ContendingPair> pairs, PriorityMethod method,
                            std::span<const double> former, std::span<const std::int32_t> changed) {
  const Reference reference(problem, traffic);
  std::vector<double> correction(former.begin(), former.end());
  std::vector<char> moves(traffic.size(), 0);
  for (const std::int32_t j : changed) {
    moves[j] = 1;
    correction[j] = reference.CorrectionOf(static_cast<std::size_t>(j));
  }
  Priorities priorities = FromCorrections(std::move(correction), traffic);
  if (method != PriorityMethod::kPairwise) return priorities;
  return Improve(problem, traffic, pairs, moves, priorities);
}

}  // namespace yardmaster::crux
