#include "pkg/crux/search/group_evaluator.h"

#include <algorithm>

#include "pkg/crux/contention.h"

namespace yardmaster::crux {

std::vector<GroupEvaluator::Group> GroupEvaluator::GroupsOf(std::span<const ContendingJobId> jobs,
                                                            const Paths& paths) const {
  // Groups are sought among these jobs alone, each by its place in `jobs`.
  std::vector<std::pair<std::int32_t, ContendingJobId>> uses;  // (link, place in jobs)
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ContendingJob& job = problem_.jobs[jobs[i].index()];
    for (std::size_t f = 0; f < job.flows.size(); ++f) {
      for (const std::int32_t link : job.flows[f].paths[paths[jobs[i].index()][f]]) {
        uses.emplace_back(link, static_cast<std::int32_t>(i));
      }
    }
  }
  std::sort(uses.begin(), uses.end());
  std::vector<ContendingPair> pairs;
  for (std::size_t u = 1; u < uses.size(); ++u) {
    const bool shared = uses[u].first == uses[u - 1].first && uses[u].second != uses[u - 1].second;
    if (shared) pairs.push_back({uses[u - 1].second, uses[u].second, 0, 0});
  }
  std::vector<Group> groups;
  for (const auto& members : Components(static_cast<std::int32_t>(jobs.size()), pairs)) {
    Group group;
    for (const ContendingJobId i : members) group.jobs.push_back(jobs[i.index()]);
    group.contended = members.size() > 1;
    groups.push_back(std::move(group));
  }
  return groups;
}

GroupEvaluator::Rates GroupEvaluator::RatesOf(std::span<const ContendingJobId> jobs,
                                              const Paths& paths,
                                              std::span<const std::int32_t> levels) {
  std::vector<std::int32_t> used;
  for (const ContendingJobId j : jobs) used.push_back(levels[j.index()]);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<std::int32_t> key;
  for (const ContendingJobId j : jobs) {
    const auto rank = std::lower_bound(used.begin(), used.end(), levels[j.index()]) - used.begin();
    key.push_back(j.value);
    key.push_back(static_cast<std::int32_t>(rank));
    key.insert(key.end(), paths[j.index()].begin(), paths[j.index()].end());
  }
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const double rate = evaluator_.FlopRate(jobs, paths, levels);
  Rates rates{rate, evaluator_.job_rates()};
  ++evaluations_;
  if (!evaluator_.exhausted()) known_.emplace(std::move(key), rates);
  return rates;
}

double GroupEvaluator::GroupRate(std::span<const ContendingJobId> jobs, const Paths& paths,
                                 std::span<const std::int32_t> levels) {
  return RatesOf(jobs, paths, levels).sum;
}

double GroupEvaluator::Rate(std::span<const ContendingJobId> jobs, const Paths& paths,
                            std::span<const std::int32_t> levels) {
  double rate = 0;
  for (const Group& group : GroupsOf(jobs, paths)) rate += GroupRate(group.jobs, paths, levels);
  return rate;
}

std::vector<double> GroupEvaluator::JobRates(std::span<const ContendingJobId> jobs,
                                             const Paths& paths,
                                             std::span<const std::int32_t> levels) {
  std::vector<double> rates(jobs.size(), 0);
  for (const Group& group : GroupsOf(jobs, paths)) {
    const Rates in_group = RatesOf(group.jobs, paths, levels);
    for (std::size_t i = 0; i < in_group.of_job.size(); ++i) {
      const auto at = std::lower_bound(jobs.begin(), jobs.end(), group.jobs[i]) - jobs.begin();
      rates[static_cast<std::size_t>(at)] = in_group.of_job[i];
    }
  }
  return rates;
}

}  // namespace yardmaster::crux
