#include "pkg/crux/refine.h"

#include <map>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/crux/enumeration.h"

namespace yardmaster::crux {
namespace {

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

}  // namespace yardmaster::crux
