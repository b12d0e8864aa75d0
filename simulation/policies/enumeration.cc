#include "simulation/policies/enumeration.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/crux/contention.h"
#include "simulation/policies/level_search.h"

namespace yardmaster::crux {
namespace {

constexpr double kSaturated = 1e18;
// A set of jobs is a word of bits.
constexpr std::size_t kMaxJobs = 60;

// A flow with more than one candidate.
struct Slot {
  ContendingJobId job;
  std::int32_t flow = 0;
  std::int32_t candidates = 0;
};

// Of `jobs`, in their order.
std::vector<Slot> ChoiceSlots(const Problem& problem, std::span<const ContendingJobId> jobs) {
  std::vector<Slot> slots;
  for (const ContendingJobId j : jobs) {
    for (std::size_t f = 0; f < problem.jobs[j.index()].flows.size(); ++f) {
      const std::int32_t candidates = problem.jobs[j.index()].flows[f].paths.size();
      if (candidates > 1) slots.push_back({j, static_cast<std::int32_t>(f), candidates});
    }
  }
  return slots;
}

// Weak orders of `jobs` in at most `levels` classes.
double WeakOrders(std::size_t jobs, std::int32_t levels) {
  // count[c]: ways to put the jobs so far into c non-empty classes in order.
  std::vector<double> count(jobs + 1, 0);
  count[0] = 1;
  for (std::size_t n = 1; n <= jobs; ++n) {
    for (std::size_t c = n; c > 0; --c) {
      count[c] = std::min(kSaturated, static_cast<double>(c) * (count[c] + count[c - 1]));
    }
    count[0] = 0;
  }
  double sum = 0;
  for (std::size_t c = 0; c <= jobs && static_cast<std::int32_t>(c) <= levels; ++c) sum += count[c];
  return std::min(sum, kSaturated);
}

// Counts through `digits` with the given bases, lowest first. False after the last.
bool NextCombination(std::vector<std::int32_t>& digits, std::span<const std::int32_t> bases) {
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (++digits[i] < bases[i]) return true;
    digits[i] = 0;
  }
  return false;
}

// For each slot the one before it whose flow is its twin (same job, alike in all but its id), or
// -1: exchanging the paths of twins changes nothing.
std::vector<std::int32_t> Twins(const Problem& problem, std::span<const Slot> slots) {
  std::vector<std::int32_t> twins(slots.size(), -1);
  for (std::size_t s = 1; s < slots.size(); ++s) {
    if (slots[s].job != slots[s - 1].job) continue;
    const auto& flows = problem.jobs[slots[s].job.index()].flows;
    if (AreTwins(flows[slots[s - 1].flow], flows[slots[s].flow])) {
      twins[s] = static_cast<std::int32_t>(s - 1);
    }
  }
  return twins;
}

void SetPaths(std::span<const Slot> slots, std::span<const std::int32_t> digits,
              SearchState& state) {
  for (std::size_t s = 0; s < slots.size(); ++s) {
    state.paths[slots[s].job.index()][slots[s].flow] = digits[s];
  }
}

struct Combination {
  double bound = 0;
  std::vector<std::int32_t> digits;  // the path of each slot
};

// Every combination of paths but for exchanged twins, highest bound first, then as counted.
std::vector<Combination> CombinationsByBound(const Problem& problem,
                                             std::span<const ContendingJobId> jobs,
                                             std::span<const Slot> slots, RateBound& bound,
                                             SearchState& scratch) {
  const std::vector<std::int32_t> twins = Twins(problem, slots);
  std::vector<std::int32_t> bases;
  for (const Slot& slot : slots) bases.push_back(slot.candidates);
  std::vector<std::int32_t> digits(slots.size(), 0);
  std::vector<Combination> combinations;
  do {
    bool exchanged = false;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      exchanged |= twins[s] >= 0 && digits[s] < digits[twins[s]];
    }
    if (exchanged) continue;
    SetPaths(slots, digits, scratch);
    combinations.push_back({bound.Of(jobs, scratch.paths), digits});
  } while (NextCombination(digits, bases));
  std::stable_sort(combinations.begin(), combinations.end(),
                   [](const Combination& a, const Combination& b) { return a.bound > b.bound; });
  return combinations;
}

}  // namespace

double EnumerationSize(const Problem& problem, std::span<const ContendingJobId> jobs,
                       std::int32_t levels) {
  double size = WeakOrders(jobs.size(), levels);
  for (const Slot& slot : ChoiceSlots(problem, jobs)) {
    size = std::min(kSaturated, size * slot.candidates);
  }
  return size;
}

double Enumerate(const Problem& problem, std::span<const ContendingJobId> jobs, std::int32_t levels,
                 GroupEvaluator& evaluator, RateBound& bound, SearchState& state) {
  const std::vector<Slot> slots = ChoiceSlots(problem, jobs);
  LevelSearch search(problem, levels, evaluator, bound);
  SearchState trial = state;
  SearchState best_state = state;
  double best = -1;
  const auto look = [&](const std::vector<std::int32_t>& digits) {
    SetPaths(slots, digits, trial);
    const double rate = search.Best(jobs, trial);
    if (rate <= best) return;
    best = rate;
    best_state = trial;
  };
  // By falling bound: once a bound is not better than the best, none that follows is.
  for (const Combination& combination : CombinationsByBound(problem, jobs, slots, bound, trial)) {
    if (evaluator.exhausted() || combination.bound <= best) break;
    look(combination.digits);
  }
  for (const ContendingJobId j : jobs) {
    state.paths[j.index()] = best_state.paths[j.index()];
    state.levels[j.index()] = best_state.levels[j.index()];
  }
  return best;
}

absl::StatusOr<SearchState> FindOptimum(const Problem& problem, std::int32_t levels, double limit,
                                        ScheduleEvaluator& evaluator) {
  SearchState state;
  state.levels.assign(problem.jobs.size(), levels - 1);
  for (const ContendingJob& job : problem.jobs) state.paths.emplace_back(job.flows.size(), 0);
  GroupEvaluator groups(problem, evaluator);
  RateBound bound(problem, evaluator.window_seconds());
  for (const auto& jobs : PossibleComponents(problem)) {
    const double size = EnumerationSize(problem, jobs, levels);
    if (size > limit || jobs.size() > kMaxJobs) {
      return absl::ResourceExhaustedError(StrCat(
          "jobs: the ", jobs.size(), " jobs around \"", problem.jobs[jobs[0].index()].id,
          "\" have ", size, " combinations of paths and levels; at most ", kMaxJobs, " jobs and ",
          limit, " combinations are enumerated; use policy crux, or fewer jobs, paths or levels"));
    }
    if (!ScheduleEvaluator::Fits(problem, jobs)) {
      return absl::ResourceExhaustedError(
          StrCat("jobs: the ", jobs.size(), " jobs around \"", problem.jobs[jobs[0].index()].id,
                 "\" have flows that start at more than ", ScheduleEvaluator::kMaxStreams,
                 " instants, which are not simulated together; use policy crux, or fewer values of "
                 "communicationStart"));
    }
    Enumerate(problem, jobs, levels, groups, bound, state);
  }
  if (evaluator.exhausted()) {
    return absl::ResourceExhaustedError(
        "the combinations of paths and levels take too long to simulate; use policy crux, or a "
        "shorter window");
  }
  return state;
}

}  // namespace yardmaster::crux
