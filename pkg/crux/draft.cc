#include "pkg/crux/draft.h"

#include <algorithm>
#include <utility>

namespace yardmaster::crux {

Draft::Draft(const Problem& problem, Paths chosen) : paths(std::move(chosen)) {
  LoadCounter counter(problem);
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    loads.push_back(counter.Count(problem.jobs[j], paths[j]));
    traffic.push_back(TrafficOf(problem.jobs[j], loads[j]));
    intensities.push_back(traffic[j].intensity);
  }
  pairs = ContendingPairs(static_cast<std::int32_t>(problem.links.size()), loads);
}

Priorities PrioritiesOf(const Problem& problem, const Draft& draft,
                        const CorrectionOptions& options) {
  std::vector<JobContention> contention;
  if (!options.published) contention = ContentionOf(problem, draft.loads, draft.pairs);
  return AssignPriorities(problem, draft.traffic, contention, options);
}

LevelledDraft PlanWithLevels(const Draft& draft, const Priorities& wanted,
                             std::vector<std::int32_t> levels) {
  std::vector<ContendingJobId> order = wanted.order;
  std::stable_sort(order.begin(), order.end(), [&](ContendingJobId a, ContendingJobId b) {
    return levels[a.index()] > levels[b.index()];
  });
  Priorities priorities = FollowOrder(wanted, draft.intensities, order);
  std::vector<ContentionEdge> edges =
      ContentionDag(draft.pairs, priorities.order, draft.intensities);
  return {&draft, std::move(priorities), std::move(edges), std::move(levels), {}};
}

Solution ToSolution(const Problem& problem, const LevelledDraft& plan,
                    const std::vector<std::int32_t>& usable) {
  Solution solution;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    JobDecision job;
    job.communication_seconds = plan.draft->traffic[j].communication_seconds;
    job.intensity = plan.draft->traffic[j].intensity;
    job.correction = plan.priorities.correction[j];
    job.priority = plan.priorities.priority[j];
    // A job that sends nothing, or in the background only, needs no level.
    job.level = job.communication_seconds > 0 ? usable[plan.levels[j]] : usable.front();
    job.paths = plan.draft->paths[j];
    solution.jobs.push_back(std::move(job));
  }
  solution.edges = plan.edges;
  solution.loss = Loss(plan.edges, plan.levels);
  solution.optimal_loss = plan.optimal_loss;
  return solution;
}

}  // namespace yardmaster::crux
