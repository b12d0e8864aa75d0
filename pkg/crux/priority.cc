#include "pkg/crux/priority.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace yardmaster::crux {
namespace {

constexpr double kStrictly = 1 - 1e-9;

IterationTiming TimingOf(const ContendingJob& job, const JobTraffic& traffic, double link_seconds) {
  return {job.compute_seconds, FirstStart(job), traffic.communication_seconds, link_seconds};
}

std::vector<ContendingJobId> OrderByPriority(std::span<const double> priority) {
  std::vector<ContendingJobId> order = AllJobs(priority.size());
  std::stable_sort(order.begin(), order.end(), [&](ContendingJobId a, ContendingJobId b) {
    return priority[a.index()] > priority[b.index()];
  });
  return order;
}

IterationTiming Alone(const Problem& problem, std::span<const JobTraffic> traffic,
                      ContendingJobId j) {
  const JobTraffic& mine = traffic[j.index()];
  return TimingOf(problem.jobs[j.index()], mine, mine.communication_seconds);
}

// The reference job of each job: the one with most bytes, of its component or of all.
std::vector<ContendingJobId> References(std::span<const JobTraffic> traffic,
                                        std::span<const JobContention> contention, bool published) {
  const std::vector<ContendingJobId> jobs = AllJobs(traffic.size());
  std::vector<ContendingJobId> best(traffic.size() + 1);  // by component
  const auto component = [&](ContendingJobId j) {
    return published ? 0 : contention[j.index()].component;
  };
  for (const ContendingJobId j : jobs) {
    ContendingJobId& at = best[component(j)];
    if (!at.valid() || traffic[j.index()].bytes > traffic[at.index()].bytes) at = j;
  }
  std::vector<ContendingJobId> references;
  references.reserve(jobs.size());
  for (const ContendingJobId j : jobs) references.push_back(best[component(j)]);
  return references;
}

double FactorOf(const IterationTiming& reference, const IterationTiming& job,
                KnownCorrection* known) {
  if (known == nullptr) return CorrectionFactor(reference, job);
  if (known->factor == 0 || known->reference != reference || known->job != job) {
    *known = {reference, job, CorrectionFactor(reference, job)};
  }
  return known->factor;
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

JobTraffic TrafficOf(const ContendingJob& job, const std::vector<LinkSeconds>& loads) {
  JobTraffic traffic;
  for (const Flow& flow : job.flows) traffic.bytes += MeanBytes(flow);
  traffic.communication_seconds = CommunicationSeconds(loads);
  traffic.intensity = Intensity(job, traffic.communication_seconds);
  return traffic;
}

Priorities FollowOrder(const Priorities& wanted, std::span<const double> intensities,
                       const std::vector<ContendingJobId>& order) {
  Priorities result = wanted;
  // A job that sends nothing has priority 0 and no say; it goes to the end.
  std::vector<ContendingJobId> sending;
  std::vector<double> logs;
  for (const ContendingJobId j : order) {
    if (wanted.priority[j.index()] <= 0) continue;
    sending.push_back(j);
    logs.push_back(std::log(wanted.priority[j.index()]));
  }
  const std::vector<double> pooled = PoolViolators(logs);
  for (std::size_t i = 0; i < sending.size(); ++i) {
    const ContendingJobId j = sending[i];
    // A job in a pool of its own keeps its exact value, and exact ties go by index. All others
    // gets a value clearly below the one before, which survives being divided by I and multiplied
    // again.
    const bool pooled_value = pooled[i] != logs[i];
    if (pooled_value) result.priority[j.index()] = std::exp(pooled[i]);
    if (i > 0) {
      const ContendingJobId before = sending[i - 1];
      const double above = result.priority[before.index()];
      const bool exact_tie = !pooled_value && above == wanted.priority[before.index()] &&
                             result.priority[j.index()] == above && before < j;
      if (!exact_tie && result.priority[j.index()] > above * kStrictly) {
        result.priority[j.index()] = above * kStrictly;
      }
    }
    if (result.priority[j.index()] != wanted.priority[j.index()]) {
      result.correction[j.index()] = result.priority[j.index()] / intensities[j.index()];
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
    for (const ContendingJobId j : components[c]) {
      contention[j.index()].component = static_cast<std::int32_t>(c);
      contention[j.index()].component_jobs = static_cast<std::int32_t>(components[c].size());
      for (const LinkSeconds& load : loads[j.index()]) {
        contention[j.index()].fullest_load =
            std::max(contention[j.index()].fullest_load, busy[load.link]);
      }
    }
  }
  return contention;
}

Priorities AssignPriorities(const Problem& problem, std::span<const JobTraffic> traffic,
                            std::span<const JobContention> contention,
                            const CorrectionOptions& options, std::vector<KnownCorrection>* known) {
  const auto references = References(traffic, contention, options.published);
  std::vector<double> correction(traffic.size(), 1);
  for (const ContendingJobId j : AllJobs(traffic.size())) {
    const ContendingJobId reference = references[j.index()];
    if (j == reference || traffic[j.index()].communication_seconds <= 0) continue;
    double& k = correction[j.index()];
    k = FactorOf(Alone(problem, traffic, reference), Alone(problem, traffic, j),
                 known == nullptr ? nullptr : &(*known)[j.index()]);
    if (!options.published && contention[j.index()].component_jobs > 2) {
      k = Damped(k, contention[j.index()].fullest_load, options);
    }
  }
  return FromCorrections(std::move(correction), traffic);
}

}  // namespace yardmaster::crux
