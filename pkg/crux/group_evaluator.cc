#include "pkg/crux/group_evaluator.h"

#include <algorithm>

#include "pkg/crux/contention.h"
#include "pkg/crux/intensity.h"

namespace yardmaster::crux {

std::vector<GroupEvaluator::Group> GroupEvaluator::GroupsOf(std::span<const std::int32_t> jobs,
                                                            const Paths& paths) const {
  // Jobs outside keep no load, so they end up alone and are left out again.
  std::vector<std::pair<std::int32_t, std::int32_t>> uses;  // (link, place in jobs)
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = problem_.jobs[jobs[i]];
    for (std::size_t f = 0; f < job.flows.size(); ++f) {
      for (const std::int32_t link : job.flows[f].paths[paths[jobs[i]][f]]) {
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
    for (const std::int32_t i : members) group.jobs.push_back(jobs[i]);
    group.contended = members.size() > 1;
    groups.push_back(std::move(group));
  }
  return groups;
}

double GroupEvaluator::GroupRate(std::span<const std::int32_t> jobs, const Paths& paths,
                                 std::span<const std::int32_t> levels) {
  std::vector<std::int32_t> used;
  for (const std::int32_t j : jobs) used.push_back(levels[j]);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<std::int32_t> key;
  for (const std::int32_t j : jobs) {
    const auto rank = std::lower_bound(used.begin(), used.end(), levels[j]) - used.begin();
    key.push_back(j);
    key.push_back(static_cast<std::int32_t>(rank));
    key.insert(key.end(), paths[j].begin(), paths[j].end());
  }
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const double rate = evaluator_.FlopRate(jobs, paths, levels);
  ++evaluations_;
  if (!evaluator_.exhausted()) known_.emplace(std::move(key), rate);
  return rate;
}

double GroupEvaluator::Rate(std::span<const std::int32_t> jobs, const Paths& paths,
                            std::span<const std::int32_t> levels) {
  double rate = 0;
  for (const Group& group : GroupsOf(jobs, paths)) rate += GroupRate(group.jobs, paths, levels);
  return rate;
}

double GroupEvaluator::LoneRate(std::span<const std::int32_t> jobs, const Paths& paths) const {
  LoadCounter counter(problem_, CountedFlows::kEveryIteration);
  double rate = 0;
  for (const std::int32_t j : jobs) {
    const Job& job = problem_.jobs[j];
    rate += job.flop_per_iteration / IterationSeconds(job, counter.SpanSeconds(job, paths[j]));
  }
  return rate;
}

}  // namespace yardmaster::crux
