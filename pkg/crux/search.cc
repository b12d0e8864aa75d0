#include "pkg/crux/search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/crux/contention.h"

namespace yardmaster::crux {
namespace {

constexpr double kSaturated = 1e18;
// A rate this close to its bound cannot be bettered.
constexpr double kNothingLost = 1 - 1e-9;

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

// Whether the classes used are 0..m without a gap, so that every weak order comes up once.
bool IsCanonical(std::span<const std::int32_t> classes) {
  std::uint64_t used = 0;
  for (const std::int32_t c : classes) used |= std::uint64_t{1} << c;
  return (used & (used + 1)) == 0;
}

struct Slot {
  std::int32_t job;
  std::int32_t flow;
  std::int32_t candidates;
};

std::vector<Slot> ChoiceSlots(const Problem& problem, std::span<const std::int32_t> jobs) {
  std::vector<Slot> slots;
  for (const std::int32_t j : jobs) {
    for (std::size_t f = 0; f < problem.jobs[j].flows.size(); ++f) {
      const std::int32_t candidates = problem.jobs[j].flows[f].paths.size();
      if (candidates > 1) slots.push_back({j, static_cast<std::int32_t>(f), candidates});
    }
  }
  return slots;
}

bool SamePaths(const PathList& a, const PathList& b) {
  if (a.size() != b.size()) return false;
  for (std::int32_t p = 0; p < a.size(); ++p) {
    if (!std::ranges::equal(a[p], b[p])) return false;
  }
  return true;
}

// For each slot the one before it whose flow is its twin (same job, bytes and candidates), or -1:
// exchanging the paths of twins changes nothing.
std::vector<std::int32_t> Twins(const Problem& problem, std::span<const Slot> slots) {
  std::vector<std::int32_t> twins(slots.size(), -1);
  for (std::size_t s = 1; s < slots.size(); ++s) {
    if (slots[s].job != slots[s - 1].job) continue;
    const auto& flows = problem.jobs[slots[s].job].flows;
    const Flow& one = flows[slots[s - 1].flow];
    const Flow& two = flows[slots[s].flow];
    if (one.bytes == two.bytes && SamePaths(one.paths, two.paths)) {
      twins[s] = static_cast<std::int32_t>(s - 1);
    }
  }
  return twins;
}

void SetPaths(std::span<const Slot> slots, std::span<const std::int32_t> digits,
              SearchState& state) {
  for (std::size_t s = 0; s < slots.size(); ++s) {
    state.paths[slots[s].job][slots[s].flow] = digits[s];
  }
}

struct Combination {
  double bound = 0;
  std::vector<std::int32_t> digits;  // the path of each slot
};

// Every combination of paths but for exchanged twins, highest bound first, then as counted.
std::vector<Combination> CombinationsByBound(const Problem& problem,
                                             std::span<const std::int32_t> jobs,
                                             std::span<const Slot> slots, GroupJudge& judge,
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
    combinations.push_back({judge.Bound(jobs, scratch.paths), digits});
  } while (NextCombination(digits, bases));
  std::stable_sort(combinations.begin(), combinations.end(),
                   [](const Combination& a, const Combination& b) { return a.bound > b.bound; });
  return combinations;
}

// The best levels of one group, tried in a fixed order; stops where nothing is lost.
double BestGroupLevels(std::span<const std::int32_t> jobs, std::int32_t levels, GroupJudge& judge,
                       SearchState& state) {
  const auto count = static_cast<std::int32_t>(jobs.size());
  const std::int32_t classes = std::min(levels, count);
  const double bound = judge.Bound(jobs, state.paths);
  std::vector<std::int32_t> digits(jobs.size(), 0);
  const std::vector<std::int32_t> bases(jobs.size(), classes);
  std::vector<std::int32_t> best_digits = digits;
  double best = -1;
  do {
    if (!IsCanonical(digits)) continue;
    for (std::size_t i = 0; i < jobs.size(); ++i) state.levels[jobs[i]] = levels - 1 - digits[i];
    const double rate = judge.GroupRate(jobs, state.paths, state.levels);
    if (rate > best) {
      best = rate;
      best_digits = digits;
    }
  } while (best < bound * kNothingLost && NextCombination(digits, bases));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    state.levels[jobs[i]] = levels - 1 - best_digits[i];
  }
  return best;
}

// Remembers each group's best levels while the paths of other groups change.
class LevelMemo {
 public:
  LevelMemo(std::int32_t levels, GroupJudge& judge) : levels_(levels), judge_(judge) {}

  double Best(std::span<const std::int32_t> jobs, SearchState& state) {
    double sum = 0;
    for (const GroupJudge::Group& group : judge_.GroupsOf(jobs, state.paths)) {
      std::vector<std::int32_t> key = group.jobs;
      for (const std::int32_t j : group.jobs) {
        key.push_back(-1);
        key.insert(key.end(), state.paths[j].begin(), state.paths[j].end());
      }
      const auto [at, fresh] = known_.emplace(std::move(key), Entry{});
      if (fresh) {
        at->second.rate = BestGroupLevels(group.jobs, levels_, judge_, state);
        for (const std::int32_t j : group.jobs) at->second.levels.push_back(state.levels[j]);
      }
      for (std::size_t i = 0; i < group.jobs.size(); ++i) {
        state.levels[group.jobs[i]] = at->second.levels[i];
      }
      sum += at->second.rate;
    }
    return sum;
  }

 private:
  struct Entry {
    double rate = 0;
    std::vector<std::int32_t> levels;
  };
  const std::int32_t levels_;
  GroupJudge& judge_;
  std::map<std::vector<std::int32_t>, Entry> known_;
};

// First-improvement local search with restarts from disturbed copies of the best state.
class LocalSearch {
 public:
  LocalSearch(const Problem& problem, std::span<const std::int32_t> jobs, std::int32_t levels,
              const RefineOptions& options, GroupJudge& judge)
      : jobs_(jobs),
        levels_(levels),
        budget_(judge.evaluations() + options.evaluations),
        judge_(judge),
        slots_(ChoiceSlots(problem, jobs)),
        random_(options.seed) {}

  double Run(SearchState& state) {
    double best = Descend(state, judge_.Rate(jobs_, state.paths, state.levels));
    // Restarts without a new judgement would go on for ever on a tiny problem.
    for (int restart = 0; restart < 64 && judge_.evaluations() < budget_; ++restart) {
      SearchState trial = state;
      Disturb(trial);
      const double rate = Descend(trial, judge_.Rate(jobs_, trial.paths, trial.levels));
      if (rate > best) {
        best = rate;
        state = std::move(trial);
      }
    }
    return best;
  }

 private:
  double Descend(SearchState& state, double rate) {
    for (bool moved = true; moved && judge_.evaluations() < budget_;) {
      moved = false;
      for (const std::int32_t j : jobs_) {
        for (std::int32_t level = 0; level < levels_; ++level) {
          moved |= Try(state.levels[j], level, state, rate);
        }
      }
      for (const Slot& slot : slots_) {
        for (std::int32_t path = 0; path < slot.candidates; ++path) {
          moved |= Try(state.paths[slot.job][slot.flow], path, state, rate);
        }
      }
      moved |= TrySwaps(state, rate);
    }
    return rate;
  }

  bool Try(std::int32_t& place, std::int32_t value, SearchState& state, double& rate) {
    if (place == value || judge_.evaluations() >= budget_) return false;
    const std::int32_t before = std::exchange(place, value);
    if (Accept(state, rate)) return true;
    place = before;
    return false;
  }

  bool TrySwaps(SearchState& state, double& rate) {
    bool moved = false;
    for (std::size_t x = 0; x < jobs_.size(); ++x) {
      for (std::size_t y = x + 1; y < jobs_.size(); ++y) {
        std::int32_t& a = state.levels[jobs_[x]];
        std::int32_t& b = state.levels[jobs_[y]];
        if (a == b || judge_.evaluations() >= budget_) continue;
        std::swap(a, b);
        if (Accept(state, rate)) {
          moved = true;
        } else {
          std::swap(a, b);
        }
      }
    }
    return moved;
  }

  bool Accept(const SearchState& state, double& rate) {
    const double now = judge_.Rate(jobs_, state.paths, state.levels);
    if (now <= rate * (1 + 1e-9)) return false;
    rate = now;
    return true;
  }

  void Disturb(SearchState& state) {
    for (int k = 0; k < 2; ++k) {
      const std::int32_t j = jobs_[random_.Below(jobs_.size())];
      state.levels[j] = static_cast<std::int32_t>(random_.Below(levels_));
      if (slots_.empty()) continue;
      const Slot& slot = slots_[random_.Below(slots_.size())];
      state.paths[slot.job][slot.flow] = static_cast<std::int32_t>(random_.Below(slot.candidates));
    }
  }

  const std::span<const std::int32_t> jobs_;
  const std::int32_t levels_;
  const std::int64_t budget_;
  GroupJudge& judge_;
  const std::vector<Slot> slots_;
  Random random_;
};

}  // namespace

double EnumerationSize(const Problem& problem, std::span<const std::int32_t> jobs,
                       std::int32_t levels) {
  double size = WeakOrders(jobs.size(), levels);
  for (const Slot& slot : ChoiceSlots(problem, jobs)) {
    size = std::min(kSaturated, size * slot.candidates);
  }
  return size;
}

double BestLevels(std::span<const std::int32_t> jobs, std::int32_t levels, GroupJudge& judge,
                  SearchState& state) {
  return LevelMemo(levels, judge).Best(jobs, state);
}

double Enumerate(const Problem& problem, std::span<const std::int32_t> jobs, std::int32_t levels,
                 GroupJudge& judge, SearchState& state) {
  const std::vector<Slot> slots = ChoiceSlots(problem, jobs);
  LevelMemo memo(levels, judge);
  SearchState trial = state;
  SearchState best_state = state;
  double best = -1;
  const auto look = [&](const std::vector<std::int32_t>& digits) {
    SetPaths(slots, digits, trial);
    const double rate = memo.Best(jobs, trial);
    if (rate <= best) return;
    best = rate;
    best_state = trial;
  };
  // The most promising first: once a bound is no better than the best, none that follows is.
  for (const Combination& combination : CombinationsByBound(problem, jobs, slots, judge, trial)) {
    if (judge.exhausted() || combination.bound <= best) break;
    look(combination.digits);
  }
  for (const std::int32_t j : jobs) {
    state.paths[j] = best_state.paths[j];
    state.levels[j] = best_state.levels[j];
  }
  return best;
}

void Refine(const Problem& problem, std::span<const std::int32_t> jobs, std::int32_t levels,
            const RefineOptions& options, GroupJudge& judge, SearchState& state) {
  const double before = judge.Rate(jobs, state.paths, state.levels);
  SearchState trial = state;
  const double size = EnumerationSize(problem, jobs, levels);
  const double rate = size <= static_cast<double>(options.evaluations)
                          ? Enumerate(problem, jobs, levels, judge, trial)
                          : LocalSearch(problem, jobs, levels, options, judge).Run(trial);
  if (judge.exhausted()) return;
  if (rate > before * (1 + options.least_gain)) state = std::move(trial);
}

absl::StatusOr<SearchState> FindOptimum(const Problem& problem, std::int32_t levels, double limit,
                                        Judge& judge) {
  SearchState state;
  state.levels.assign(problem.jobs.size(), levels - 1);
  for (const Job& job : problem.jobs) state.paths.emplace_back(job.flows.size(), 0);
  GroupJudge groups(problem, judge);
  for (const auto& jobs : PossibleComponents(problem)) {
    const double size = EnumerationSize(problem, jobs, levels);
    if (size > limit) {
      return absl::ResourceExhaustedError(
          StrCat("jobs: the ", jobs.size(), " jobs around \"", problem.jobs[jobs[0]].id, "\" have ",
                 size, " combinations of paths and levels, more than the ", limit,
                 " that are enumerated; use policy crux, or fewer jobs, paths or levels"));
    }
    Enumerate(problem, jobs, levels, groups, state);
  }
  if (judge.exhausted()) {
    return absl::ResourceExhaustedError(
        "the combinations of paths and levels take too long to simulate; use policy crux, or a "
        "shorter window");
  }
  return state;
}

}  // namespace yardmaster::crux
