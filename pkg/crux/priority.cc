#include "pkg/crux/priority.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "pkg/crux/pair_play.h"

namespace yardmaster::crux {
namespace {

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

}  // namespace

JobTraffic TrafficOf(const Job& job, const std::vector<LinkSeconds>& loads) {
  JobTraffic traffic;
  for (const Flow& flow : job.flows) traffic.bytes += MeanBytes(flow);
  traffic.communication_seconds = CommunicationSeconds(loads);
  traffic.intensity = Intensity(job, traffic.communication_seconds);
  return traffic;
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

Priorities AssignPriorities(const Problem& problem, std::span<const JobTraffic> traffic) {
  const Reference reference(problem, traffic);
  std::vector<double> correction;
  for (std::size_t j = 0; j < traffic.size(); ++j) correction.push_back(reference.CorrectionOf(j));
  return FromCorrections(std::move(correction), traffic);
}

Priorities InsertPriorities(const Problem& problem, std::span<const JobTraffic> traffic,
                            std::span<const double> former, std::span<const std::int32_t> changed) {
  const Reference reference(problem, traffic);
  std::vector<double> correction(former.begin(), former.end());
  for (const std::int32_t j : changed) {
    correction[j] = reference.CorrectionOf(static_cast<std::size_t>(j));
  }
  return FromCorrections(std::move(correction), traffic);
}

}  // namespace yardmaster::crux
