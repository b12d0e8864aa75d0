#include "pkg/crux/decide.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/crux/baselines.h"
#include "pkg/crux/contention.h"
#include "pkg/crux/enumeration.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/priority.h"

namespace yardmaster::crux {
namespace {

struct PolicyEntry {
  Policy policy;
  std::string_view name;
};

constexpr std::array<PolicyEntry, 8> kPolicies{{{Policy::kCrux, "crux"},
                                                {Policy::kPublished, "published"},
                                                {Policy::kEcmp, "ecmp"},
                                                {Policy::kSincronia, "sincronia"},
                                                {Policy::kVarys, "varys"},
                                                {Policy::kTaccl, "taccl"},
                                                {Policy::kCassini, "cassini"},
                                                {Policy::kExact, "exact"}}};

// Everything that follows from a choice of paths.
struct Draft {
  Paths paths;
  std::vector<std::vector<LinkSeconds>> loads;
  std::vector<JobTraffic> traffic;
  std::vector<double> intensities;
  std::vector<ContendingPair> pairs;

  Draft(const Problem& problem, Paths chosen) : paths(std::move(chosen)) {
    LoadCounter counter(problem);
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      loads.push_back(counter.Count(problem.jobs[j], paths[j]));
      traffic.push_back(TrafficOf(problem.jobs[j], loads[j]));
      intensities.push_back(traffic[j].intensity);
    }
    pairs = ContendingPairs(static_cast<std::int32_t>(problem.links.size()), loads);
  }
};

// Levels here count within the usable ones; the solution gets the real ones at the very end.
struct Plan {
  Draft draft;
  Priorities priorities;
  std::vector<ContentionEdge> edges;
  std::vector<std::int32_t> levels;
  std::optional<double> optimal_loss;
};

std::vector<std::int32_t> UsableLevels(const Problem& problem, const Options& options) {
  std::vector<std::int32_t> usable;
  // More levels than jobs are never needed; the highest ones are taken.
  for (std::int32_t level = problem.levels - 1; level >= 0; --level) {
    const auto& reserved = options.reserved_levels;
    if (std::find(reserved.begin(), reserved.end(), level) == reserved.end()) {
      usable.push_back(level);
    }
    if (usable.size() > problem.jobs.size() && usable.size() >= 64) break;
  }
  std::reverse(usable.begin(), usable.end());
  return usable;
}

Plan DescribePlan(const Problem& problem, Draft draft, std::vector<std::int32_t> levels) {
  const Priorities wanted = AssignPriorities(problem, draft.traffic);
  std::vector<std::int32_t> order = wanted.order;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return levels[a] > levels[b]; });
  Priorities priorities = FollowOrder(wanted, draft.intensities, order);
  std::vector<ContentionEdge> edges =
      ContentionDag(draft.pairs, priorities.order, draft.intensities);
  return {std::move(draft), std::move(priorities), std::move(edges), std::move(levels), {}};
}

Solution ToSolution(const Problem& problem, const Plan& plan,
                    const std::vector<std::int32_t>& usable) {
  Solution solution;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    JobDecision job;
    job.communication_seconds = plan.draft.traffic[j].communication_seconds;
    job.intensity = plan.draft.traffic[j].intensity;
    job.correction = plan.priorities.correction[j];
    job.priority = plan.priorities.priority[j];
    // Who sends nothing, or in the background only, needs no level.
    job.level = job.communication_seconds > 0 ? usable[plan.levels[j]] : usable.front();
    job.paths = plan.draft.paths[j];
    solution.jobs.push_back(std::move(job));
  }
  solution.edges = plan.edges;
  solution.loss = Loss(plan.edges, plan.levels);
  solution.optimal_loss = plan.optimal_loss;
  return solution;
}

// The former levels, counted within the usable ones; -1 where there was none.
std::vector<std::int32_t> PreviousLevels(const Options& options,
                                         const std::vector<std::int32_t>& usable) {
  std::vector<std::int32_t> former;
  if (!options.previous) return former;
  for (const JobDecision& job : options.previous->jobs) {
    const auto at = std::find(usable.begin(), usable.end(), job.level);
    former.push_back(at == usable.end() ? -1 : static_cast<std::int32_t>(at - usable.begin()));
  }
  return former;
}

Paths ChoosePaths(const Problem& problem, const Options& options) {
  if (!options.previous) return SelectPaths(problem, options.paths);
  return ReselectPaths(problem, PathsOf(*options.previous), options.changed, options.paths);
}

Priorities ChoosePriorities(const Problem& problem, const Draft& draft, const Options& options) {
  if (!options.previous) return AssignPriorities(problem, draft.traffic);
  std::vector<double> former;
  for (const JobDecision& job : options.previous->jobs) former.push_back(job.correction);
  return InsertPriorities(problem, draft.traffic, former, options.changed);
}

Plan Analyse(const Problem& problem, const Options& options,
             const std::vector<std::int32_t>& usable) {
  Draft draft(problem, ChoosePaths(problem, options));
  Priorities priorities = ChoosePriorities(problem, draft, options);
  std::vector<ContentionEdge> edges =
      ContentionDag(draft.pairs, priorities.order, draft.intensities);
  CompressionOptions compression = options.compression;
  compression.seed ^= options.seed;
  Compression compressed = Compress(static_cast<std::int32_t>(problem.jobs.size()), edges,
                                    static_cast<std::int32_t>(usable.size()),
                                    PreviousLevels(options, usable), compression);
  return {std::move(draft), std::move(priorities), std::move(edges), std::move(compressed.levels),
          compressed.optimal_loss};
}

std::optional<double> OptimalLoss(const Problem& problem, const Plan& plan, std::int32_t levels,
                                  const CompressionOptions& options) {
  return Compress(static_cast<std::int32_t>(problem.jobs.size()), plan.edges, levels, {}, options)
      .optimal_loss;
}

// The changed ones among `jobs`, and whether one of them meets somebody on the plan's paths.
struct ChangedPart {
  std::vector<std::int32_t> jobs;
  bool meets = false;
};

ChangedPart ChangedAmong(std::span<const std::int32_t> jobs, const Options& options,
                         const Plan& plan) {
  ChangedPart part;
  const auto changed = [&](std::int32_t j) {
    return std::binary_search(options.changed.begin(), options.changed.end(), j);
  };
  std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(part.jobs), changed);
  for (const ContendingPair& pair : plan.draft.pairs) {
    const bool inside = std::binary_search(part.jobs.begin(), part.jobs.end(), pair.a) ||
                        std::binary_search(part.jobs.begin(), part.jobs.end(), pair.b);
    part.meets |= inside;
  }
  return part;
}

// Looks around the analytic plan where few enough jobs could meet. Of a plan that holds only the
// changed jobs move, and others only where that gains clearly more; where nobody new is in
// somebody's way nothing is looked at.
void RefinePlan(const Problem& problem, const Options& options, std::int32_t levels, Plan& plan) {
  const std::unique_ptr<Judge> judge = options.judge(problem);
  GroupJudge groups(problem, *judge);
  SearchState state{plan.draft.paths, plan.levels};
  RefineOptions refine = options.refine;
  refine.seed ^= options.seed;
  for (const auto& jobs : PossibleComponents(problem)) {
    if (jobs.size() < 2 || jobs.size() > options.refine_jobs) continue;
    double gain = refine.min_gain;
    if (options.previous) {
      const ChangedPart part = ChangedAmong(jobs, options, plan);
      if (!part.meets) continue;
      Refine(problem, jobs, part.jobs, levels, refine, gain, groups, state);
      gain = std::max(gain, refine.moving_gain);
      if (part.jobs.size() == jobs.size()) continue;
    }
    Refine(problem, jobs, jobs, levels, refine, gain, groups, state);
  }
  if (state.paths == plan.draft.paths && state.levels == plan.levels) return;
  plan = DescribePlan(problem, Draft(problem, std::move(state.paths)), std::move(state.levels));
  plan.optimal_loss = OptimalLoss(problem, plan, levels, options.compression);
}

Solution DecideBaseline(const Problem& problem, Policy policy, const Options& options,
                        const std::vector<std::int32_t>& usable) {
  const auto count = static_cast<std::int32_t>(problem.jobs.size());
  const auto levels = static_cast<std::int32_t>(usable.size());
  std::vector<std::int32_t> chosen(count, 0);
  std::vector<double> offsets(count, 0);
  if (policy == Policy::kTaccl) {
    Problem same = problem;
    same.levels = levels;
    TacclPlan taccl = TacclSchedule(same);
    return ToSolution(
        problem,
        DescribePlan(problem, Draft(problem, std::move(taccl.paths)), std::move(taccl.levels)),
        usable);
  }
  Draft draft(problem, RandomPaths(problem, options.seed));
  const auto links = static_cast<std::int32_t>(problem.links.size());
  if (policy == Policy::kSincronia) {
    chosen = LevelPerJob(SincroniaOrder(links, draft.loads), levels);
  } else if (policy == Policy::kVarys) {
    chosen = BalancedLevels(VarysOrder(draft.loads), levels);
  } else if (policy == Policy::kCassini) {
    offsets = CassiniOffsets(problem, draft.loads, draft.pairs);
  }
  Solution solution =
      ToSolution(problem, DescribePlan(problem, std::move(draft), std::move(chosen)), usable);
  for (std::int32_t j = 0; j < count; ++j) solution.jobs[j].offset_seconds = offsets[j];
  return solution;
}

absl::StatusOr<Solution> DecideExactly(const Problem& problem, const Options& options,
                                       const std::vector<std::int32_t>& usable) {
  if (!options.judge) {
    return absl::FailedPreconditionError("policy exact needs a judge of utilisation");
  }
  const auto levels = static_cast<std::int32_t>(usable.size());
  const std::unique_ptr<Judge> judge = options.judge(problem);
  YM_ASSIGN_OR_RETURN(SearchState best, FindOptimum(problem, levels, options.exact_limit, *judge));
  Plan plan = DescribePlan(problem, Draft(problem, std::move(best.paths)), std::move(best.levels));
  plan.optimal_loss = OptimalLoss(problem, plan, levels, options.compression);
  return ToSolution(problem, plan, usable);
}

Solution DecideCrux(const Problem& problem, Policy policy, const Options& options,
                    const std::vector<std::int32_t>& usable) {
  if (policy == Policy::kPublished) {
    Options published = options;
    published.compression.improvements = 0;
    published.compression.exact_when_small = false;
    return ToSolution(problem, Analyse(problem, published, usable), usable);
  }
  Plan plan = Analyse(problem, options, usable);
  if (options.judge) {
    RefinePlan(problem, options, static_cast<std::int32_t>(usable.size()), plan);
  }
  return ToSolution(problem, plan, usable);
}

absl::Status CheckPrevious(const Problem& problem, const Options& options) {
  if (!options.previous) return absl::OkStatus();
  if (options.previous->jobs.size() != problem.jobs.size()) {
    return FieldError("previous", "does not line up with the jobs", "give one entry per job");
  }
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    if (std::binary_search(options.changed.begin(), options.changed.end(),
                           static_cast<std::int32_t>(j))) {
      continue;
    }
    const Job& job = problem.jobs[j];
    const std::vector<std::int32_t>& paths = options.previous->jobs[j].paths;
    bool fits = paths.size() == job.flows.size();
    for (std::size_t f = 0; fits && f < paths.size(); ++f) {
      fits = paths[f] >= 0 && paths[f] < job.flows[f].paths.size();
    }
    if (!fits) {
      return FieldError("previous", StrCat("job \"", job.id, "\" has no paths to keep"),
                        "list it among the changed jobs");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Policy> ParsePolicy(std::string_view name) {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : kPolicies) {
    if (entry.name == name) return entry.policy;
    names.emplace_back(entry.name);
  }
  return FieldError("policy", StrCat("\"", name, "\" is unknown"),
                    StrCat("choose one of ", Join(names, ", ")));
}

std::string_view PolicyName(Policy policy) {
  for (const PolicyEntry& entry : kPolicies) {
    if (entry.policy == policy) return entry.name;
  }
  return "";
}

std::vector<Policy> AllPolicies() {
  std::vector<Policy> policies;
  for (const PolicyEntry& entry : kPolicies) policies.push_back(entry.policy);
  return policies;
}

absl::StatusOr<Solution> Decide(const Problem& problem, Policy policy, const Options& options) {
  // What was answered before was valid then; checking all of it again costs more than the answer.
  YM_RETURN_IF_ERROR(options.previous ? ValidateChanged(problem, options.changed)
                                      : Validate(problem));
  YM_RETURN_IF_ERROR(CheckPrevious(problem, options));
  const std::vector<std::int32_t> usable = UsableLevels(problem, options);
  if (usable.empty()) {
    return FieldError("levels", "every level is reserved", "leave at least one for the jobs");
  }
  switch (policy) {
    case Policy::kCrux:
    case Policy::kPublished:
      return DecideCrux(problem, policy, options, usable);
    case Policy::kExact:
      return DecideExactly(problem, options, usable);
    default:
      return DecideBaseline(problem, policy, options, usable);
  }
}

Solution Describe(const Problem& problem, const Paths& paths,
                  const std::vector<std::int32_t>& levels) {
  const std::int32_t highest = levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end());
  std::vector<std::int32_t> usable(static_cast<std::size_t>(highest) + 1);
  std::iota(usable.begin(), usable.end(), 0);
  return ToSolution(problem, DescribePlan(problem, Draft(problem, paths), levels), usable);
}

}  // namespace yardmaster::crux
