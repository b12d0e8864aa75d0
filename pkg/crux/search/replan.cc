#include "pkg/crux/search/replan.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "pkg/crux/intensity.h"
#include "pkg/crux/search/group_evaluator.h"
#include "pkg/crux/search/seed_levels.h"

namespace yardmaster::crux {
namespace {

constexpr double kSameValue = 1e-9;
constexpr double kAtBound = 1 - 5e-4;
// A job below this share of what it does alone loses to contention.
constexpr double kLoses = 0.99;
// A link busy for this share of the time is full.
constexpr double kFull = 0.9;
constexpr int kMaxRounds = 8;
// Choosing paths takes as long as an event for so many uses of links.
constexpr std::int64_t kUsesPerEvent = 16;

// Half of what the budget has left; what is spent of it is charged to the whole.
class HalfBudget {
 public:
  explicit HalfBudget(EventBudget& whole) : whole_(whole), half_{whole.left / 2, 0} {}
  ~HalfBudget() { whole_.Spend(half_.spent); }
  HalfBudget(const HalfBudget&) = delete;
  HalfBudget& operator=(const HalfBudget&) = delete;
  EventBudget& half() { return half_; }

 private:
  EventBudget& whole_;
  EventBudget half_;
};

struct Scored {
  SearchState state;
  double value = 0;
  std::vector<double> rates;  // FLOP/s by job
};

class Replanner {
 public:
  Replanner(const Problem& problem, std::int32_t levels, const MoveCosts& costs,
            const PathSelectionOptions& paths, const CorrectionOptions& correction,
            const AnytimeSearchOptions& options, EventBudget& budget, const SearchState& start)
      : problem_(problem),
        all_(AllJobs(problem.jobs.size())),
        levels_(levels),
        costs_(costs),
        path_options_(paths),
        correction_(correction),
        options_(options),
        budget_(budget),
        start_(start),
        evaluator_(problem, WindowOf(problem, all_, options.window_iterations), budget),
        groups_(problem, evaluator_) {
    path_options_.hysteresis = 0;
    std::size_t uses = 0;
    LoadCounter counter(problem);
    for (const ContendingJob& job : problem.jobs) {
      for (const Flow& flow : job.flows) {
        uses += static_cast<std::size_t>(flow.paths.size()) * flow.paths[0].size();
      }
      const double span = counter.SpanSeconds(job, SelectAlone(problem, job));
      period_.push_back(IterationSeconds(job, span));
      alone_.push_back(job.flop_per_iteration / period_.back());
      possible_ += alone_.back();
    }
    events_per_plan_ = 1 + static_cast<std::int64_t>(uses) / kUsesPerEvent;
  }

  SearchReport Run(SearchState& state) {
    best_.state = start_;
    if (!Score(best_)) return {};
    SearchReport report{best_.value, best_.value, false, 0};
    Improve();
    RevertMoves();
    report.at_bound = AtBound();
    report.evaluations = groups_.evaluations();
    report.AcceptIfBetter(best_.value, best_.state, options_.min_gain, state);
    return report;
  }

 private:
  // False once the work allowed is done.
  bool Score(Scored& plan) {
    if (budget_.exhausted()) return false;
    plan.rates = groups_.JobRates(all_, plan.state.paths, plan.state.levels);
    plan.value = 0;
    for (std::size_t j = 0; j < all_.size(); ++j) {
      plan.value += plan.rates[j];
      if (plan.state.paths[j] != start_.paths[j]) plan.value -= costs_.paths[j];
      if (plan.state.levels[j] != start_.levels[j]) plan.value -= costs_.level[j];
    }
    return !budget_.exhausted();
  }
  bool AtBound() const { return best_.value >= possible_ * kAtBound; }

  // Few moves are tried before many, so that a plan at the bound moves no more jobs than it has to.
  void Improve() {
    PathSelectionOptions published = path_options_;
    published.count_common_links = true;
    std::vector<ContendingJobId> first;
    for (int round = 0; round < kMaxRounds && !AtBound(); ++round) {
      const double before = best_.value;
      const std::size_t known = first.size();
      std::vector<ContendingJobId> losers;
      AddLosers(best_, losers);
      Scored plan;
      if (!TryPaths(Reselect(losers, losers), plan) || AtBound()) return;
      if (!TryPaths(Reselect(WithNeighbours(losers), losers), plan) || AtBound()) return;
      if (!TryPaths(Reselect(all_, first), plan) || AtBound()) return;
      AddLosers(plan, first);
      if (round == 0 && !TryPaths(Reselect(all_, {}, published), plan)) return;
      AddLosers(best_, first);
      if (best_.value <= before * (1 + kSameValue) && first.size() == known) return;
    }
  }

  // `jobs` choose again and the others of the best plan stay.
  Paths Reselect(std::span<const ContendingJobId> jobs, std::span<const ContendingJobId> first) {
    return Reselect(jobs, first, path_options_);
  }
  Paths Reselect(std::span<const ContendingJobId> jobs, std::span<const ContendingJobId> first,
                 const PathSelectionOptions& options) {
    budget_.Spend(events_per_plan_);
    Paths held = best_.state.paths;
    for (const ContendingJobId j : jobs) held[j.index()].clear();
    return ReselectPaths(problem_, held, jobs, options, first);
  }

  // Levels follow the priority rule. False once the work allowed is done.
  bool TryPaths(Paths paths, Scored& plan) {
    plan.state = {std::move(paths), {}};
    if (!seen_.insert(plan.state.paths).second) {
      plan = best_;
      return !budget_.exhausted();
    }
    plan.state.levels = SeedLevels(problem_, plan.state.paths, correction_, levels_);
    return Consider(plan);
  }
  bool Consider(Scored& plan) {
    if (!Score(plan)) return false;
    if (plan.value > best_.value * (1 + kSameValue)) best_ = plan;
    return true;
  }

  // Adds those that lose in `plan`, and keeps `jobs` sorted.
  void AddLosers(const Scored& plan, std::vector<ContendingJobId>& jobs) const {
    for (const ContendingJobId j : all_) {
      if (plan.rates[j.index()] < kLoses * alone_[j.index()]) jobs.push_back(j);
    }
    std::sort(jobs.begin(), jobs.end());
    jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  }

  // With the jobs on links of `jobs` that are full, sorted.
  std::vector<ContendingJobId> WithNeighbours(const std::vector<ContendingJobId>& jobs) const {
    std::vector<double> busy(problem_.links.size(), 0);
    std::vector<char> concerned(problem_.links.size(), 0);
    std::vector<std::vector<LinkSeconds>> loads;
    LoadCounter counter(problem_);
    for (const ContendingJobId j : all_) {
      loads.push_back(counter.Count(problem_.jobs[j.index()], best_.state.paths[j.index()]));
      const bool loses = std::binary_search(jobs.begin(), jobs.end(), j);
      for (const LinkSeconds& load : loads.back()) {
        busy[load.link] += load.seconds / period_[j.index()];
        if (loses) concerned[load.link] = 1;
      }
    }
    std::vector<ContendingJobId> near;
    for (const ContendingJobId j : all_) {
      const bool shares_full_link = std::any_of(
          loads[j.index()].begin(), loads[j.index()].end(),
          [&](const LinkSeconds& l) { return concerned[l.link] != 0 && busy[l.link] > kFull; });
      if (shares_full_link || std::binary_search(jobs.begin(), jobs.end(), j)) near.push_back(j);
    }
    return near;
  }

  // Gives jobs their former paths back, then all of them their former levels, where that gains.
  void RevertMoves() {
    Scored plan;
    for (const ContendingJobId j : all_) {
      if (best_.state.paths[j.index()] == start_.paths[j.index()]) continue;
      plan.state = best_.state;
      plan.state.paths[j.index()] = start_.paths[j.index()];
      plan.state.levels[j.index()] = start_.levels[j.index()];
      if (!Consider(plan)) return;
    }
    plan.state = {best_.state.paths, start_.levels};
    Consider(plan);
  }

  const Problem& problem_;
  const std::vector<ContendingJobId> all_;
  const std::int32_t levels_;
  const MoveCosts& costs_;
  PathSelectionOptions path_options_;
  const CorrectionOptions& correction_;
  const AnytimeSearchOptions& options_;
  EventBudget& budget_;
  const SearchState start_;
  ScheduleEvaluator evaluator_;
  GroupEvaluator groups_;
  std::vector<double> alone_;   // FLOP/s by job
  std::vector<double> period_;  // of an iteration alone, by job
  double possible_ = 0;
  std::int64_t events_per_plan_ = 1;
  Scored best_;
  std::set<Paths> seen_;
};

}  // namespace

SearchReport Replan(const Problem& problem, std::int32_t levels, const MoveCosts& costs,
                    const PathSelectionOptions& paths, const CorrectionOptions& correction,
                    const AnytimeSearchOptions& options, EventBudget& budget, SearchState& state) {
  if (problem.jobs.size() < 2 || budget.exhausted()) return {};
  if (!ScheduleEvaluator::Fits(problem, AllJobs(problem.jobs.size()))) return {};
  HalfBudget half(budget);
  return Replanner(problem, levels, costs, paths, correction, options, half.half(), state)
      .Run(state);
}

}  // namespace yardmaster::crux
