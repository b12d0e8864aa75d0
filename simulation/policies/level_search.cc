#include "simulation/policies/level_search.h"

#include <algorithm>
#include <utility>

namespace yardmaster::crux {
namespace {

// A rate this close to its bound cannot be bettered.
constexpr double kNothingLost = 1 - 1e-9;

bool HasBackground(const Problem& problem, std::span<const ContendingJobId> jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [&](ContendingJobId j) {
    const auto& flows = problem.jobs[j.index()].flows;
    return std::any_of(flows.begin(), flows.end(), [](const Flow& f) { return f.background; });
  });
}

// The best levels of one group: classes are filled from the highest down. What a class gets done
// does not depend on those below it, so what is left is skipped where even its bound is too little.
class GroupSearch {
 public:
  GroupSearch(const Problem& problem, std::span<const ContendingJobId> jobs, std::int32_t levels,
              GroupEvaluator& evaluator, RateBound& bound, SearchState& state)
      : jobs_(jobs),
        highest_(levels - 1),
        classes_(std::min(levels, static_cast<std::int32_t>(jobs.size()))),
        evaluator_(evaluator),
        bound_of_(bound),
        state_(state),
        background_(HasBackground(problem, jobs)),
        bound_(bound.Of(jobs, state.paths)),
        best_levels_(jobs.size(), highest_) {}

  // Writes the best levels into the state.
  double Run() {
    Fill(0, All(), 0);
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      state_.levels[jobs_[i].index()] = best_levels_[i];
    return best_;
  }

 private:
  std::uint64_t All() const { return (std::uint64_t{1} << jobs_.size()) - 1; }
  bool Done() const { return best_ >= bound_ * kNothingLost; }

  // `rest` is the set of jobs without a class, `depth` the number of classes above, `done` what
  // those get done. First all of it as one class, then every part of it with more below.
  void Fill(std::int32_t depth, std::uint64_t rest, double done) {
    Assign(rest, depth);
    const double rate = evaluator_.GroupRate(jobs_, state_.paths, state_.levels);
    if (rate > best_) {
      best_ = rate;
      for (std::size_t i = 0; i < jobs_.size(); ++i)
        best_levels_[i] = state_.levels[jobs_[i].index()];
    }
    if (depth + 1 >= classes_) return;
    for (std::uint64_t part = (rest - 1) & rest; part != 0 && !Done(); part = (part - 1) & rest) {
      const std::uint64_t below = rest & ~part;
      Assign(part, depth);
      if (background_) {
        Fill(depth + 1, below, 0);
        continue;
      }
      const double above = evaluator_.Rate(Jobs(All() & ~below), state_.paths, state_.levels);
      served_.push_back({Jobs(part), above - done});
      if (above + bound_of_.Of(Jobs(below), state_.paths, served_) > best_) {
        Fill(depth + 1, below, above);
      }
      served_.pop_back();
    }
  }
  void Assign(std::uint64_t part, std::int32_t depth) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (part >> i & 1) state_.levels[jobs_[i].index()] = highest_ - depth;
    }
  }
  std::vector<ContendingJobId> Jobs(std::uint64_t part) const {
    std::vector<ContendingJobId> some;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (part >> i & 1) some.push_back(jobs_[i]);
    }
    return some;
  }

  const std::span<const ContendingJobId> jobs_;
  const std::int32_t highest_;
  const std::int32_t classes_;
  GroupEvaluator& evaluator_;
  RateBound& bound_of_;
  SearchState& state_;
  const bool background_;
  const double bound_;
  double best_ = -1;
  std::vector<std::int32_t> best_levels_;
  std::vector<Served> served_;  // the classes above
};

}  // namespace

double LevelSearch::Best(std::span<const ContendingJobId> jobs, SearchState& state) {
  double sum = 0;
  for (const GroupEvaluator::Group& group : evaluator_.GroupsOf(jobs, state.paths)) {
    std::vector<std::int32_t> key;
    for (const ContendingJobId j : group.jobs) key.push_back(j.value);
    for (const ContendingJobId j : group.jobs) {
      key.push_back(-1);
      key.insert(key.end(), state.paths[j.index()].begin(), state.paths[j.index()].end());
    }
    const auto [at, fresh] = known_.emplace(std::move(key), Entry{});
    if (fresh) {
      at->second.rate = GroupSearch(problem_, group.jobs, levels_, evaluator_, bound_, state).Run();
      for (const ContendingJobId j : group.jobs)
        at->second.levels.push_back(state.levels[j.index()]);
    }
    for (std::size_t i = 0; i < group.jobs.size(); ++i) {
      state.levels[group.jobs[i].index()] = at->second.levels[i];
    }
    sum += at->second.rate;
  }
  return sum;
}

}  // namespace yardmaster::crux
