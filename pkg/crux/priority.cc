#include "pkg/crux/priority.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "pkg/crux/pairwise_contention.h"

namespace yardmaster::crux {
namespace {

constexpr double kStrictly = 1 - 1e-9;

IterationTiming TimingOf(const Job& job, const JobTraffic& traffic, double link_seconds) {
  return {job.compute_seconds, FirstStart(job), traffic.communication_seconds, link_seconds};
}

std::vector<std::int32_t> OrderByPriority(std::span<const double> priority) {
  std::vector<std::int32_t> order(priority.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return priority[a] > priority[b]; });
  return order;
}

IterationTiming Alone(const Problem& problem, std::span<const JobTraffic> traffic, std::size_t j) {
  return TimingOf(problem.jobs[j], traffic[j], traffic[j].communication_seconds);
}

// The reference job of each job: the one with most bytes, of its component or of all.
std::vector<std::size_t> References(std::span<const JobTraffic> traffic,
                                    std::span<const JobContention> contention, bool published) {
  std::vector<std::int32_t> best(traffic.size() + 1, -1);
  const auto component = [&](std::size_t j) {
    return published ? 0 : static_cast<std::size_t>(contention[j].component);
  };
  for (std::size_t j = 0; j < traffic.size(); ++j) {
    std::int32_t& at = best[component(j)];
    if (at < 0 || traffic[j].bytes > traffic[at].bytes) at = static_cast<std::int32_t>(j);
  }
  std::vector<std::size_t> references;
  for (std::size_t j = 0; j < traffic.size(); ++j) {
    references.push_back(static_cast<std::size_t>(best[component(j)]));
  }
  return references;
}

double Damped(double correction, double fullest_load, const CorrectionOptions& options) {
  const double kept = std::clamp(correction, 1 / options.max_factor, options.max_factor);
  return fullest_load > options.full_load ? std::pow(kept, options.full_exponent) : kept;
}

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
    // A job in a pool of its own keeps its exact value, and exact ties go by index. All others
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

std::vector<JobContention> ContentionOf(const Problem& problem,
                                        std::span<const std::vector<LinkSeconds>> loads,
                                        std::span<const ContendingPair> pairs) {
  std::vector<double> busy(problem.links.size(), 0);
  for (std::size_t j = 0; j < loads.size(); ++j) {
    const double period = IterationSeconds(problem.jobs[j], CommunicationSeconds(loads[j]));
    for (const LinkSeconds& load : loads[j]) busy[load.link] += load.seconds / period;
  }
  std::vector<JobContention> contention(loads.size());
  const auto components = Components(static_cast<std::int32_t>(loads.size()), pairs);
  for (std::size_t c = 0; c < components.size(); ++c) {
    for (const std::int32_t j : components[c]) {
      contention[j].component = static_cast<std::int32_t>(c);
      contention[j].component_jobs = static_cast<std::int32_t>(components[c].size());
      for (const LinkSeconds& load : loads[j]) {
        contention[j].fullest_load = std::max(contention[j].fullest_load, busy[load.link]);
      }
    }
  }
  return contention;
}

Priorities AssignPriorities(const Problem& problem, std::span<const JobTraffic> traffic,
                            std::span<const JobContention> contention,
                            const CorrectionOptions& options) {
  const auto references = References(traffic, contention, options.published);
  std::vector<double> correction(traffic.size(), 1);
  for (std::size_t j = 0; j < traffic.size(); ++j) {
    if (j == references[j] || traffic[j].communication_seconds <= 0) continue;
    correction[j] =
        CorrectionFactor(Alone(problem, traffic, references[j]), Alone(problem, traffic, j));
    if (!options.published && contention[j].component_jobs > 2) {
      correction[j] = Damped(correction[j], contention[j].fullest_load, options);
    }
  }
  return FromCorrections(std::move(correction), traffic);
}

}  // namespace yardmaster::crux
