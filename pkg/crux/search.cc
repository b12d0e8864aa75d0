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

// The best levels of one group: classes are filled from the highest down. What a class gets done
// does not depend on those below it, so what is left is skipped where even its bound is too little.
class LevelSearch {
 public:
  LevelSearch(std::span<const std::int32_t> jobs, std::int32_t levels, GroupJudge& judge,
              SearchState& state)
      : jobs_(jobs),
        highest_(levels - 1),
        classes_(std::min(levels, static_cast<std::int32_t>(jobs.size()))),
        judge_(judge),
        state_(state),
        bound_(judge.Bound(jobs, state.paths)),
        best_levels_(jobs.size(), highest_) {}

  // Writes the best levels into the state.
  double Run() {
    Fill(0, (std::uint64_t{1} << jobs_.size()) - 1, 0);
    for (std::size_t i = 0; i < jobs_.size(); ++i) state_.levels[jobs_[i]] = best_levels_[i];
    return best_;
  }

 private:
  bool Done() const { return best_ >= bound_ * kNothingLost; }

  // `rest` is the set of jobs without a class, `depth` the number of classes above, `done` what
  // those get done. First all of it as one class, then every part of it with more below.
  void Fill(std::int32_t depth, std::uint64_t rest, double done) {
    Assign(rest, depth);
    const double rate = judge_.GroupRate(jobs_, state_.paths, state_.levels);
    if (rate > best_) {
      best_ = rate;
      for (std::size_t i = 0; i < jobs_.size(); ++i) best_levels_[i] = state_.levels[jobs_[i]];
    }
    if (depth + 1 >= classes_) return;
    for (std::uint64_t part = (rest - 1) & rest; part != 0 && !Done(); part = (part - 1) & rest) {
      const std::uint64_t below = rest & ~part;
      Assign(part, depth);
      const double above = judge_.Rate(Jobs(~below), state_.paths, state_.levels);
      served_.push_back({Jobs(part), above - done});
      if (above + judge_.Bound(Jobs(below), state_.paths, served_) > best_) {
        Fill(depth + 1, below, above);
      }
      served_.pop_back();
    }
  }
  void Assign(std::uint64_t part, std::int32_t depth) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (part >> i & 1) state_.levels[jobs_[i]] = highest_ - depth;
    }
  }
  std::vector<std::int32_t> Jobs(std::uint64_t part) const {
    std::vector<std::int32_t> some;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (part >> i & 1) some.push_back(jobs_[i]);
    }
    return some;
  }

  const std::span<const std::int32_t> jobs_;
  const std::int32_t highest_;
  const std::int32_t classes_;
  GroupJudge& judge_;
  SearchState& state_;
  const double bound_;
  double best_ = -1;
  std::vector<std::int32_t> best_levels_;
  std::vector<Served> served_;  // the classes above
};

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
        at->second.rate = LevelSearch(group.jobs, levels_, judge_, state).Run();
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
  LocalSearch(const Problem& problem, std::span<const std::int32_t> jobs,
              std::span<const std::int32_t> movable, std::int32_t levels,
              const RefineOptions& options, GroupJudge& judge)
      : jobs_(jobs),
        movable_(movable),
        levels_(levels),
        budget_(judge.evaluations() + options.evaluations),
        judge_(judge),
        slots_(ChoiceSlots(problem, movable)),
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
      for (const std::int32_t j : movable_) {
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
    for (std::size_t x = 0; x < movable_.size(); ++x) {
      for (std::size_t y = x + 1; y < movable_.size(); ++y) {
        std::int32_t& a = state.levels[movable_[x]];
        std::int32_t& b = state.levels[movable_[y]];
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
    if (BoundOf(state.paths) <= rate * (1 + 1e-9)) return false;
    const double now = judge_.Rate(jobs_, state.paths, state.levels);
    if (now <= rate * (1 + 1e-9)) return false;
    rate = now;
    return true;
  }

  // Remembered, because most moves change levels only.
  double BoundOf(const Paths& paths) {
    std::vector<std::int32_t> key;
    for (const Slot& slot : slots_) key.push_back(paths[slot.job][slot.flow]);
    const auto [at, fresh] = bounds_.emplace(std::move(key), 0.0);
    if (fresh) at->second = judge_.Bound(jobs_, paths);
    return at->second;
  }

  void Disturb(SearchState& state) {
    for (int k = 0; k < 2; ++k) {
      const std::int32_t j = movable_[random_.Below(movable_.size())];
      state.levels[j] = static_cast<std::int32_t>(random_.Below(levels_));
      if (slots_.empty()) continue;
      const Slot& slot = slots_[random_.Below(slots_.size())];
      state.paths[slot.job][slot.flow] = static_cast<std::int32_t>(random_.Below(slot.candidates));
    }
  }

  const std::span<const std::int32_t> jobs_;
  const std::span<const std::int32_t> movable_;
  const std::int32_t levels_;
  const std::int64_t budget_;
  GroupJudge& judge_;
  const std::vector<Slot> slots_;
  std::map<std::vector<std::int32_t>, double> bounds_;
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

void Refine(const Problem& problem, std::span<const std::int32_t> jobs,
            std::span<const std::int32_t> movable, std::int32_t levels,
            const RefineOptions& options, double gain, GroupJudge& judge, SearchState& state) {
  const double before = judge.Rate(jobs, state.paths, state.levels);
  SearchState trial = state;
  const bool all = movable.size() == jobs.size();
  const bool few =
      EnumerationSize(problem, jobs, levels) <= static_cast<double>(options.evaluations);
  const double rate = all && few
                          ? Enumerate(problem, jobs, levels, judge, trial)
                          : LocalSearch(problem, jobs, movable, levels, options, judge).Run(trial);
  if (judge.exhausted()) return;
  if (rate > before * (1 + gain)) state = std::move(trial);
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
