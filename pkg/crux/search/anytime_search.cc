#include "pkg/crux/search/anytime_search.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pkg/crux/path_selection.h"
#include "pkg/crux/search/group_evaluator.h"
#include "pkg/crux/search/path_variants.h"
#include "pkg/crux/search/seed_levels.h"

namespace yardmaster::crux {
namespace {

// Values that differ by less are one value.
constexpr double kSameValue = 1e-9;
// A schedule this close to what is possible is not improved further.
constexpr double kAtBound = 1 - 5e-4;
// Bounding a combination of paths takes as long as an event for so many loads of links, and all of
// them together take at most this part of the work allowed.
constexpr std::size_t kLoadsPerEvent = 4;
constexpr std::int64_t kRankingShare = 8;

struct Scored {
  SearchState state;
  double value = 0;
  double bound = 0;  // of its paths
};

class AnytimeSearch {
 public:
  AnytimeSearch(const Problem& problem, std::int32_t levels, const MoveCosts& costs,
                const CorrectionOptions& correction, const AnytimeSearchOptions& options,
                EventBudget& budget, const SearchState& start)
      : problem_(problem),
        levels_(levels),
        costs_(costs),
        correction_(correction),
        options_(options),
        budget_(budget),
        start_(start),
        all_(AllJobs(problem.jobs.size())),
        evaluator_(problem, Window(problem, options), budget),
        groups_(problem, evaluator_) {}

  SearchReport Run(SearchState& state) {
    best_ = {start_, 0, 0};
    if (!Value(start_, best_.value)) return {};
    SearchReport report{best_.value, best_.value, false, 0};
    Search();
    report.at_bound = AtBound();
    report.evaluations = groups_.evaluations();
    report.AcceptIfBetter(best_.value, best_.state, options_.min_gain, state);
    return report;
  }

 private:
  static double Window(const Problem& problem, const AnytimeSearchOptions& options) {
    return WindowOf(problem, AllJobs(problem.jobs.size()), options.window_iterations);
  }

  // What the state is worth; false once the work allowed is done.
  bool Value(const SearchState& state, double& value) {
    if (groups_.exhausted()) return false;
    value = groups_.Rate(all_, state.paths, state.levels);
    for (const ContendingJobId j : all_) {
      if (state.paths[j.index()] != start_.paths[j.index()]) value -= costs_.paths[j.index()];
      if (state.levels[j.index()] != start_.levels[j.index()]) value -= costs_.level[j.index()];
    }
    return !groups_.exhausted();
  }
  bool AtBound() const { return best_.value >= possible_ * kAtBound; }

  bool Consider(SearchState state, double bound, Scored& scored) {
    scored = {std::move(state), 0, bound};
    if (!Value(scored.state, scored.value)) return false;
    if (scored.value > best_.value * (1 + kSameValue)) best_ = scored;
    return true;
  }

  void Search() {
    const Paths fresh = FreshPaths();
    for (const ContendingJobId j : all_) {
      std::vector<std::vector<std::int32_t>> also;
      if (!fresh.empty()) also = {ReselectAlone(j), fresh[j.index()]};
      variants_.push_back(VariantsOf(problem_, problem_.jobs[j.index()], start_.paths[j.index()],
                                     evaluator_.window_seconds(), options_.max_variants, also));
    }
    const std::size_t most = AffordableCombinations();
    const auto ranked = RankedCombinations(problem_, variants_, costs_.paths, most);
    budget_.Spend(static_cast<std::int64_t>(ranked.size()) * EventsPerBound());
    possible_ = Possible(ranked, most);
    if (AtBound()) return;
    std::vector<Scored> seeds;
    for (const Combination& combination : ranked) {
      if (seeds.size() >= options_.max_path_sets) break;
      if (combination.bound <= best_.value) continue;
      SearchState state{PathsOf(combination), {}};
      state.levels = SeedLevels(problem_, state.paths, correction_, levels_);
      Scored scored;
      if (!Consider(std::move(state), combination.bound, scored)) return;
      seeds.push_back(std::move(scored));
      if (AtBound()) return;
    }
    if (!fresh.empty()) {
      Scored scored;
      if (!Consider({fresh, SeedLevels(problem_, fresh, correction_, levels_)}, possible_, scored))
        return;
      if (IsCovered(fresh)) seeds.push_back(std::move(scored));
    }
    Scored start{start_, 0, possible_};
    if (!Value(start_, start.value)) return;
    seeds.push_back(std::move(start));
    std::stable_sort(seeds.begin(), seeds.end(),
                     [](const Scored& a, const Scored& b) { return a.value > b.value; });
    if (seeds.size() > options_.max_descents) seeds.resize(options_.max_descents);
    for (Scored& seed : seeds) {
      if (!Descend(seed) || AtBound()) return;
    }
  }

  // The paths that all jobs would choose if none had any; none where no job runs, since then all
  // have just chosen. Moving single flows of a job with many hardly ever gains anything: the
  // slowest of them decides. So running jobs can also choose again as a whole, together or one
  // alone.
  Paths FreshPaths() const {
    const auto runs = [&](ContendingJobId j) { return costs_.paths[j.index()] > 0; };
    if (std::none_of(all_.begin(), all_.end(), runs)) return {};
    return SelectPaths(problem_);
  }
  std::vector<std::int32_t> ReselectAlone(ContendingJobId j) const {
    PathSelectionOptions free;
    free.hysteresis = 0;
    return ReselectPaths(problem_, start_.paths, std::span(&j, 1), free)[j.index()];
  }
  // Whether moves from these paths on can be bounded.
  bool IsCovered(const Paths& paths) const {
    return std::all_of(all_.begin(), all_.end(), [&](ContendingJobId j) {
      return std::any_of(
          variants_[j.index()].begin(), variants_[j.index()].end(),
          [&](const PathVariant& variant) { return variant.paths == paths[j.index()]; });
    });
  }

  // What no schedule exceeds: the best bound of all combinations, or without contention where those
  // are too many.
  double Possible(const std::vector<Combination>& ranked, std::size_t most) const {
    double best = 0;
    double lone = 0;
    double all = 1;
    for (const Combination& combination : ranked) best = std::max(best, combination.bound);
    for (const auto& of_job : variants_) {
      double most = 0;
      for (const PathVariant& variant : of_job) most = std::max(most, variant.rate);
      lone += most;
      all *= static_cast<double>(of_job.size());
    }
    return all <= static_cast<double>(most) ? best : lone;
  }

  // What it takes to bound a combination, in simulated events.
  std::int64_t EventsPerBound() const {
    std::size_t loads = 0;
    for (const auto& of_job : variants_) loads += of_job.front().loads.size();
    return 1 + static_cast<std::int64_t>(loads / kLoadsPerEvent);
  }
  // So many that most of the work allowed is left for simulations.
  std::size_t AffordableCombinations() const {
    const std::int64_t affordable = budget_.left / kRankingShare / EventsPerBound();
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(1, affordable)),
                                   1, options_.max_combinations);
  }

  Paths PathsOf(const Combination& combination) const {
    Paths paths;
    for (const ContendingJobId j : all_)
      paths.push_back(variants_[j.index()][combination.variant[j.index()]].paths);
    return paths;
  }

  // False once the work allowed is done.
  bool Descend(Scored& now) {
    for (bool moved = true; moved && !AtBound();) {
      moved = false;
      if (!TryLevels(now, moved) || !TrySwaps(now, moved) || !TryPaths(now, moved)) return false;
    }
    return true;
  }

  // Takes `trial` where it is worth more than `now`. False once the work allowed is done.
  bool TryState(SearchState trial, double bound, Scored& now, bool& moved) {
    if (!seen_.insert(KeyOf(trial)).second) return true;
    Scored scored;
    if (!Consider(std::move(trial), bound, scored)) return false;
    if (scored.value <= now.value * (1 + kSameValue)) return true;
    now = std::move(scored);
    moved = true;
    return true;
  }
  static std::vector<std::int32_t> KeyOf(const SearchState& state) {
    std::vector<std::int32_t> key = state.levels;
    for (const auto& paths : state.paths) key.insert(key.end(), paths.begin(), paths.end());
    return key;
  }

  std::vector<ContendingJobId> Contended(const SearchState& state) const {
    std::vector<ContendingJobId> jobs;
    for (const auto& group : groups_.GroupsOf(all_, state.paths)) {
      if (group.contended) jobs.insert(jobs.end(), group.jobs.begin(), group.jobs.end());
    }
    std::sort(jobs.begin(), jobs.end());
    return jobs;
  }

  bool TryLevels(Scored& now, bool& moved) {
    if (now.value >= now.bound * kAtBound) return true;
    for (const ContendingJobId j : Contended(now.state)) {
      for (std::int32_t level = levels_ - 1; level >= 0; --level) {
        if (level == now.state.levels[j.index()]) continue;
        SearchState trial = now.state;
        trial.levels[j.index()] = level;
        if (!TryState(std::move(trial), now.bound, now, moved)) return false;
      }
    }
    return true;
  }

  bool TrySwaps(Scored& now, bool& moved) {
    if (now.value >= now.bound * kAtBound) return true;
    const std::vector<ContendingJobId> jobs = Contended(now.state);
    for (std::size_t a = 0; a < jobs.size(); ++a) {
      for (std::size_t b = a + 1; b < jobs.size(); ++b) {
        SearchState trial = now.state;
        std::int32_t& one = trial.levels[jobs[a].index()];
        std::int32_t& other = trial.levels[jobs[b].index()];
        if (one == other) continue;
        std::swap(one, other);
        if (!TryState(std::move(trial), now.bound, now, moved)) return false;
      }
    }
    return true;
  }

  bool TryPaths(Scored& now, bool& moved) {
    for (const ContendingJobId j : Contended(now.state)) {
      for (const PathVariant& variant : variants_[j.index()]) {
        if (variant.paths == now.state.paths[j.index()]) continue;
        budget_.Spend(EventsPerBound());
        const double bound = BoundWith(now.state, j, variant);
        if (bound <= now.value) continue;
        SearchState trial = now.state;
        trial.paths[j.index()] = variant.paths;
        if (!TryState(std::move(trial), bound, now, moved)) return false;
      }
    }
    return true;
  }

  double BoundWith(const SearchState& state, ContendingJobId moved, const PathVariant& to) const {
    std::vector<const PathVariant*> chosen;
    for (const ContendingJobId j : all_) {
      const auto at = std::find_if(
          variants_[j.index()].begin(), variants_[j.index()].end(),
          [&](const PathVariant& variant) { return variant.paths == state.paths[j.index()]; });
      chosen.push_back(j == moved ? &to : &*at);
    }
    return BoundOf(problem_, chosen);
  }

  const Problem& problem_;
  const std::int32_t levels_;
  const MoveCosts& costs_;
  const CorrectionOptions& correction_;
  const AnytimeSearchOptions& options_;
  EventBudget& budget_;
  const SearchState start_;
  const std::vector<ContendingJobId> all_;
  ScheduleEvaluator evaluator_;
  GroupEvaluator groups_;
  std::vector<std::vector<PathVariant>> variants_;  // per job
  double possible_ = 0;
  Scored best_;
  std::set<std::vector<std::int32_t>> seen_;
};

}  // namespace

void SearchReport::AcceptIfBetter(double value, const SearchState& best, double min_gain,
                                  SearchState& state) {
  if (value <= before * (1 + min_gain)) return;
  after = value;
  state = best;
}

SearchReport ImproveSchedule(const Problem& problem, std::int32_t levels, const MoveCosts& costs,
                             const CorrectionOptions& correction,
                             const AnytimeSearchOptions& options, EventBudget& budget,
                             SearchState& state) {
  if (!ScheduleEvaluator::Fits(problem, AllJobs(problem.jobs.size()))) return {};
  return AnytimeSearch(problem, levels, costs, correction, options, budget, state).Run(state);
}

}  // namespace yardmaster::crux
