// The micro benchmark of the Crux paper (section 4.4): each part of the method against the optimum
// found by enumeration, judged by the utilisation the simulator gives.
//
//   crux_micro [CASES] [FIRST_SEED]      default 1500 cases from seed 1; about ten CPU minutes
//
// What is fixed while a part is looked at is the optimum's:
//   paths        the part's paths with the best levels for them     against the best of everything
//   priority     the best paths, K = jobs, levels in the part's order
//                                                     against the best levels with K = jobs
//   compression  the best paths, the best order, the part's K levels
//                                                     against the best valid K levels of that order
//   all          the whole method                                   against the best of everything
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "pkg/crux/contention.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/enumeration.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/level_search.h"
#include "pkg/crux/priority.h"
#include "pkg/sim/evaluate.h"
#include "pkg/sim/micro_cases.h"
#include "pkg/sim/phase_judge.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

using Levels = std::vector<std::int32_t>;

// Of the default window: 30 iterations of the slowest job keep the enumeration affordable.
constexpr double kWindowShare = 0.3;
constexpr std::int64_t kMaxEvents = 100'000'000'000;

struct Column {
  std::string name;
  std::vector<double> ratios;
};

void Print(const Column& column) {
  std::vector<double> sorted = column.ratios;
  std::sort(sorted.begin(), sorted.end());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / sorted.size();
  std::printf("%-34s mean %7.3f %%   p1 %7.3f %%   worst %7.3f %%\n", column.name.c_str(),
              100 * mean, 100 * sorted[sorted.size() / 100], 100 * sorted.front());
}

struct Traffic {
  std::vector<std::vector<crux::LinkSeconds>> loads;
  std::vector<crux::JobTraffic> jobs;
  std::vector<double> intensities;
  std::vector<crux::ContendingPair> pairs;

  Traffic(const crux::Problem& problem, const crux::Paths& paths) {
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      loads.push_back(crux::LinkLoads(problem, problem.jobs[j], paths[j]));
      jobs.push_back(crux::TrafficOf(problem.jobs[j], loads[j]));
      intensities.push_back(jobs[j].intensity);
    }
    pairs = crux::ContendingPairs(static_cast<std::int32_t>(problem.links.size()), loads);
  }
};

Levels OwnLevels(const std::vector<std::int32_t>& order) {
  Levels levels(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    levels[order[i]] = static_cast<std::int32_t>(order.size() - 1 - i);
  }
  return levels;
}

// The best of the valid assignments for the DAG.
double BestValid(const std::vector<std::int32_t>& all, const std::vector<crux::ContentionEdge>& dag,
                 std::int32_t count, crux::GroupJudge& judge, const crux::Paths& paths) {
  Levels levels(all.size(), 0);
  double best = 0;
  for (bool more = true; more;) {
    if (crux::IsValidCompression(dag, levels))
      best = std::max(best, judge.Rate(all, paths, levels));
    more = false;
    for (auto& level : levels) {
      if (++level < count) {
        more = true;
        break;
      }
      level = 0;
    }
  }
  return best;
}

struct Columns {
  Column paths_published{"paths, published", {}};
  Column paths_refined{"paths, with search", {}};
  Column priority_published{"priority, published", {}};
  Column priority_refined{"priority, with search", {}};
  Column compression_published{"compression, published", {}};
  Column compression_ours{"compression, exact loss", {}};
  Column compression_refined{"compression, with search", {}};
  Column all_published{"all, published", {}};
  Column all_analytic{"all, ours without search", {}};
  Column all_ours{"all, ours", {}};
  Column all_ecmp{"all, ecmp", {}};
  Column all_sincronia{"all, sincronia", {}};
  Column all_varys{"all, varys", {}};
  Column all_taccl{"all, taccl", {}};
};

class Case {
 public:
  explicit Case(std::uint64_t seed)
      : seed_(seed),
        problem_(sim::MicroCase(seed)),
        judge_(MakeJudge()),
        groups_(problem_, *judge_),
        all_(problem_.jobs.size()) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  void Run(Columns& out) {
    best_ = Optimum();
    best_rate_ = Rate(best_);
    Paths(out);
    Priority(out);
    Compression(out);
    All(out);
  }

 private:
  std::unique_ptr<crux::Judge> MakeJudge() const {
    const double window = sim::DefaultWindow(problem_, nullptr) * kWindowShare;
    return std::make_unique<sim::PhaseJudge>(problem_, window, kMaxEvents);
  }

  // The two Aggs are alike, so one flow may be held to the first of them.
  crux::SearchState Optimum() {
    crux::Problem held = problem_;
    crux::Flow& flow = held.jobs[0].flows[0];
    crux::PathList only;
    only.Add(flow.paths[0]);
    flow.paths = only;
    return *crux::FindOptimum(held, held.levels, 1e12, *judge_);
  }

  double Rate(const crux::SearchState& state) {
    return groups_.Rate(all_, state.paths, state.levels);
  }
  double WithBestLevels(const crux::Paths& paths) {
    crux::SearchState state{paths, Levels(all_.size(), 0)};
    return crux::LevelSearch(problem_, problem_.levels, groups_).Best(all_, state);
  }
  crux::Solution Decided(crux::Policy policy, bool search) {
    crux::Options options;
    options.seed = seed_;
    if (search) options.judge = [this](const crux::Problem&) { return MakeJudge(); };
    return *crux::Decide(problem_, policy, options);
  }
  double RateOf(const crux::Solution& solution) {
    Levels levels;
    for (const auto& job : solution.jobs) levels.push_back(job.level);
    return groups_.Rate(all_, crux::PathsOf(solution), levels);
  }

  void Paths(Columns& out) {
    const crux::Paths published = crux::SelectPaths(problem_);
    out.paths_published.ratios.push_back(WithBestLevels(published) / best_rate_);
    ours_ = Decided(crux::Policy::kCrux, true);
    const crux::Paths searched = crux::PathsOf(ours_);
    out.paths_refined.ratios.push_back(WithBestLevels(searched) / best_rate_);
  }

  void Priority(Columns& out) {
    const auto count = static_cast<std::int32_t>(all_.size());
    crux::SearchState state = best_;
    const double best = crux::LevelSearch(problem_, count, groups_).Best(all_, state);
    const Traffic traffic(problem_, best_.paths);
    state.levels = OwnLevels(crux::AssignPriorities(problem_, traffic.jobs).order);
    out.priority_published.ratios.push_back(Rate(state) / best);
    Search(count, state);
    out.priority_refined.ratios.push_back(Rate(state) / best);
  }

  // A search over levels alone, the paths being fixed.
  void Search(std::int32_t levels, crux::SearchState& state) {
    crux::Problem fixed = problem_;
    for (std::size_t j = 0; j < fixed.jobs.size(); ++j) {
      for (std::size_t f = 0; f < fixed.jobs[j].flows.size(); ++f) {
        auto& flow = fixed.jobs[j].flows[f];
        crux::PathList only;
        only.Add(flow.paths[state.paths[j][f]]);
        flow.paths = only;
      }
    }
    const auto judge = std::make_unique<sim::PhaseJudge>(
        fixed, sim::DefaultWindow(problem_, nullptr) * kWindowShare, kMaxEvents);
    crux::GroupJudge groups(fixed, *judge);
    crux::SearchState inner{state.paths, state.levels};
    for (auto& job : inner.paths) std::fill(job.begin(), job.end(), 0);
    const crux::RefineOptions refine;
    crux::Refine(fixed, all_, all_, levels, refine, refine.min_gain, groups, inner);
    state.levels = inner.levels;
  }

  void Compression(Columns& out) {
    const auto count = static_cast<std::int32_t>(all_.size());
    crux::SearchState state = best_;
    crux::LevelSearch(problem_, count, groups_).Best(all_, state);
    std::vector<std::int32_t> order = all_;
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return state.levels[a] > state.levels[b];
    });
    const Traffic traffic(problem_, best_.paths);
    const auto dag = crux::ContentionDag(traffic.pairs, order, traffic.intensities);
    const double best = BestValid(all_, dag, problem_.levels, groups_, best_.paths);
    crux::CompressionOptions published;
    published.exact_when_small = false;
    published.improvements = 0;
    published.seed = seed_;
    state.levels = crux::Compress(count, dag, problem_.levels, {}, published).levels;
    out.compression_published.ratios.push_back(Rate(state) / best);
    state.levels = crux::Compress(count, dag, problem_.levels, {}).levels;
    out.compression_ours.ratios.push_back(Rate(state) / best);
    Search(problem_.levels, state);
    out.compression_refined.ratios.push_back(Rate(state) / best);
  }

  void All(Columns& out) {
    const auto add = [&](Column& column, crux::Policy policy) {
      column.ratios.push_back(RateOf(Decided(policy, false)) / best_rate_);
    };
    add(out.all_published, crux::Policy::kPublished);
    add(out.all_analytic, crux::Policy::kCrux);
    out.all_ours.ratios.push_back(RateOf(ours_) / best_rate_);
    add(out.all_ecmp, crux::Policy::kEcmp);
    add(out.all_sincronia, crux::Policy::kSincronia);
    add(out.all_varys, crux::Policy::kVarys);
    add(out.all_taccl, crux::Policy::kTaccl);
  }

  const std::uint64_t seed_;
  const crux::Problem problem_;
  std::unique_ptr<crux::Judge> judge_;
  crux::GroupJudge groups_;
  std::vector<std::int32_t> all_;
  crux::SearchState best_;
  crux::Solution ours_;
  double best_rate_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 1500;
  const int first = argc > 2 ? std::atoi(argv[2]) : 1;
  Columns columns;
  for (int i = 0; i < cases; ++i) {
    Case(static_cast<std::uint64_t>(first + i)).Run(columns);
    if (i % 50 == 49) std::fprintf(stderr, "%d of %d\n", i + 1, cases);
  }
  for (const Column* column :
       {&columns.paths_published, &columns.paths_refined, &columns.priority_published,
        &columns.priority_refined, &columns.compression_published, &columns.compression_ours,
        &columns.compression_refined, &columns.all_published, &columns.all_analytic,
        &columns.all_ours, &columns.all_ecmp, &columns.all_sincronia, &columns.all_varys,
        &columns.all_taccl}) {
    Print(*column);
  }
  return 0;
}
