#include "simulation/policies/policies.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/crux/draft.h"
#include "pkg/crux/path_selection.h"
#include "simulation/policies/baselines.h"
#include "simulation/policies/enumeration.h"

namespace yardmaster::crux {
namespace {

constexpr double kExactIterations = 100;

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

Solution DecideBaseline(const Problem& problem, Policy policy, const Options& options,
                        const std::vector<std::int32_t>& usable) {
  const auto levels = static_cast<std::int32_t>(usable.size());
  if (policy == Policy::kTaccl) {
    const TacclPlan taccl = TacclSchedule(problem, levels);
    return Describe(problem, taccl.paths, taccl.levels, usable, options.correction);
  }
  const Draft draft(problem, RandomPaths(problem, options.seed));
  std::vector<std::int32_t> chosen(problem.jobs.size(), 0);
  std::vector<double> offsets(problem.jobs.size(), 0);
  const auto links = static_cast<std::int32_t>(problem.links.size());
  if (policy == Policy::kSincronia) {
    chosen = LevelPerJob(SincroniaOrder(links, draft.loads), levels);
  } else if (policy == Policy::kVarys) {
    chosen = BalancedLevels(VarysOrder(draft.loads), levels);
  } else if (policy == Policy::kCassini) {
    offsets = CassiniOffsets(problem, draft.loads, draft.pairs);
  }
  Solution solution = Describe(problem, draft.paths, chosen, usable, options.correction);
  for (std::size_t j = 0; j < offsets.size(); ++j) solution.jobs[j].offset_seconds = offsets[j];
  return solution;
}

absl::StatusOr<Solution> DecideExactly(const Problem& problem, const Options& options,
                                       const ExactOptions& exact,
                                       const std::vector<std::int32_t>& usable) {
  const double longest = WindowOf(problem, AllJobs(problem.jobs.size()), kExactIterations);
  EventBudget budget{exact.event_budget, 0};
  ScheduleEvaluator evaluator(
      problem, exact.window_seconds > 0 ? std::min(exact.window_seconds, longest) : longest,
      budget);
  const auto levels = static_cast<std::int32_t>(usable.size());
  YM_ASSIGN_OR_RETURN(const SearchState best,
                      FindOptimum(problem, levels, exact.max_evaluations, evaluator));
  const Draft draft(problem, best.paths);
  const Priorities wanted = PrioritiesOf(problem, draft, options.correction);
  LevelledDraft plan = PlanWithLevels(draft, wanted, best.levels);
  plan.optimal_loss = Compress(static_cast<std::int32_t>(problem.jobs.size()), plan.edges, levels,
                               options.compression)
                          .optimal_loss;
  return ToSolution(problem, plan, usable);
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

Options PublishedOptions(const Options& options) {
  Options published = options;
  published.paths.count_common_links = true;
  published.correction.published = true;
  published.compression.improvements = 0;
  published.compression.exact_when_small = false;
  published.search.event_budget = 0;
  return published;
}

absl::StatusOr<Solution> DecideBy(Policy policy, const Problem& problem, const Options& options,
                                  const ExactOptions& exact, const PresentState& present) {
  if (policy == Policy::kCrux) return Decide(problem, options, present);
  if (policy == Policy::kPublished) {
    PresentState levels_alone;
    levels_alone.reserved_levels = present.reserved_levels;
    return Decide(problem, PublishedOptions(options), levels_alone);
  }
  YM_RETURN_IF_ERROR(Validate(problem));
  const std::vector<std::int32_t> usable =
      UsableLevels(problem.levels, present.reserved_levels, problem.jobs.size());
  if (usable.empty()) {
    return FieldError("levels", "every level is reserved", "leave at least one for the jobs");
  }
  if (policy == Policy::kExact) return DecideExactly(problem, options, exact, usable);
  return DecideBaseline(problem, policy, options, usable);
}

}  // namespace yardmaster::crux
