// The micro benchmark of the Crux paper (section 4.4): policies against the optimum found by
// enumeration, by the utilisation that the simulator gives.
//
//   crux_micro [--cases 1500] [--first 1] [--cache FILE] [--jitter-cases 100] [--variant
//   KEY=VALUE]...
//
// The optimum of a case takes some CPU tenths of a second; with --cache it is read from FILE where
// it is known and added where it is not, so that a run that was stopped goes on where it was. A
// variant changes the production configuration of the rows `crux` and `analytic` (without search);
// the keys are those of bench/variants.h.
//
// The first --jitter-cases cases are also simulated with compute that differs by up to 10 % from
// iteration to iteration, for the policy that was told profiles 10 % wrong: in percent of what the
// schedule that is optimal without jitter reaches under the same jitter. That one is enumerated, so
// these cases take longer.
//
// Windows are 30 iterations of the slowest job, for the optimum as for what is compared with it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/crux/search/group_evaluator.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "simulation/bench/micro_cases.h"
#include "simulation/bench/variants.h"
#include "simulation/policies/enumeration.h"
#include "simulation/policies/level_search.h"
#include "simulation/policies/policies.h"
#include "simulation/simulator/evaluate.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

constexpr double kWindowIterations = 30;
constexpr std::int64_t kUnlimited = 1'000'000'000'000;
// Relative error of every duration and size that a policy is given.
constexpr double kProfileError = 0.1;
constexpr double kJitter = 0.1;

struct Row {
  std::string name;
  std::vector<double> ratios;
  double cpu_seconds = 0;

  void Print() const {
    std::vector<double> sorted = ratios;
    std::sort(sorted.begin(), sorted.end());
    const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / sorted.size();
    std::printf("%-26s mean %7.3f %%   p1 %7.3f %%   worst %7.3f %%   %8.3f ms a case\n",
                name.c_str(), 100 * mean, 100 * sorted[sorted.size() / 100], 100 * sorted.front(),
                1e3 * cpu_seconds / static_cast<double>(ratios.size()));
  }
};

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double RateOf(const crux::Problem& problem, const crux::Paths& paths,
              const std::vector<std::int32_t>& levels) {
  const auto all = crux::AllJobs(problem.jobs.size());
  crux::EventBudget budget{kUnlimited, 0};
  crux::ScheduleEvaluator evaluator(problem, crux::WindowOf(problem, all, kWindowIterations),
                                    budget);
  return crux::GroupEvaluator(problem, evaluator).Rate(all, paths, levels);
}

double RateOf(const crux::Problem& problem, const crux::Solution& solution) {
  std::vector<std::int32_t> levels;
  for (const auto& job : solution.jobs) levels.push_back(job.level);
  return RateOf(problem, crux::PathsOf(solution), levels);
}

// The two Aggs are alike, so one flow may be held to the first of them, which keeps its number.
crux::SearchState Optimum(const crux::Problem& problem, double* rate) {
  crux::Problem held = problem;
  crux::Flow& flow = held.jobs[0].flows[0];
  crux::PathList only;
  only.Add(flow.paths[0]);
  flow.paths = only;
  const auto all = crux::AllJobs(problem.jobs.size());
  crux::EventBudget budget{kUnlimited, 0};
  crux::ScheduleEvaluator evaluator(held, crux::WindowOf(problem, all, kWindowIterations), budget);
  crux::SearchState best = *crux::FindOptimum(held, held.levels, 1e12, evaluator);
  *rate = crux::GroupEvaluator(held, evaluator).Rate(all, best.paths, best.levels);
  return best;
}

double OptimalRate(const crux::Problem& problem) {
  double rate = 0;
  Optimum(problem, &rate);
  return rate;
}

double JitteredUtilisation(const crux::Problem& problem, const crux::Paths& paths,
                           const std::vector<std::int32_t>& levels, std::uint64_t seed) {
  crux::Solution solution;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    crux::JobDecision decision;
    decision.paths = paths[j];
    decision.level = levels[j];
    solution.jobs.push_back(std::move(decision));
  }
  sim::EvaluateOptions options;
  options.simulator.compute_jitter = kJitter;
  options.simulator.seed = seed;
  return sim::Evaluate(problem, solution, options)->utilisation;
}

// A problem in which every time and size differs by up to kProfileError from what was profiled.
crux::Problem Disturbed(const crux::Problem& problem, std::uint64_t seed) {
  Random random(seed * 77 + 5);
  const auto error = [&] { return 1 + kProfileError * (2 * random.Unit() - 1); };
  crux::Problem out = problem;
  for (crux::ContendingJob& job : out.jobs) {
    job.compute_seconds *= error();
    job.flop_per_iteration *= error();
    for (crux::Flow& flow : job.flows) flow.bytes *= error();
  }
  return out;
}

// Jobs leave and come again, one after the other; what the last plan holds counts.
crux::Solution AfterReplacements(const crux::Problem& problem, const crux::Options& options) {
  crux::PresentState present;
  crux::Solution now = *crux::Decide(problem, options);
  for (std::size_t step = 0; step < 2 * problem.jobs.size(); ++step) {
    const auto j = static_cast<std::int32_t>((7 * step + 3) % problem.jobs.size());
    crux::Problem without = problem;
    without.jobs.erase(without.jobs.begin() + j);
    crux::Solution held = now;
    held.jobs.erase(held.jobs.begin() + j);
    present.previous = std::move(held);
    present.changed.clear();
    present.departures = true;
    now = *crux::Decide(without, options, present);
    crux::JobDecision fresh;
    fresh.level = -1;
    now.jobs.insert(now.jobs.begin() + j, fresh);
    present.previous = now;
    present.changed = {crux::ContendingJobId(j)};
    present.departures = false;
    now = *crux::Decide(problem, options, present);
  }
  return now;
}

class Optima {
 public:
  explicit Optima(std::string file) : file_(std::move(file)) {
    std::ifstream in(file_);
    std::uint64_t seed = 0;
    double rate = 0;
    while (in >> seed >> rate) known_[seed] = rate;
  }
  double Of(std::uint64_t seed, const crux::Problem& problem) {
    const auto at = known_.find(seed);
    if (at != known_.end()) return at->second;
    const double rate = OptimalRate(problem);
    known_[seed] = rate;
    if (!file_.empty()) {
      std::FILE* out = std::fopen(file_.c_str(), "a");
      std::fprintf(out, "%llu %.17g\n", static_cast<unsigned long long>(seed), rate);
      std::fclose(out);
    }
    return rate;
  }

 private:
  const std::string file_;
  std::map<std::uint64_t, double> known_;
};

struct Entrant {
  Row row;
  std::function<double(const crux::Problem&, std::uint64_t)> rate;
};

std::vector<Entrant> Entrants(const crux::Options& production) {
  const auto by = [](crux::Policy policy, crux::Options options) {
    return [policy, options](const crux::Problem& problem, std::uint64_t seed) mutable {
      options.seed = seed;
      return RateOf(problem, *crux::DecideBy(policy, problem, options));
    };
  };
  crux::Options analytic = production;
  analytic.search.event_budget = 0;
  std::vector<Entrant> entrants;
  entrants.push_back({{"crux", {}, 0}, by(crux::Policy::kCrux, production)});
  entrants.push_back({{"crux, replacements", {}, 0}, [production](const auto& problem, auto) {
                        return RateOf(problem, AfterReplacements(problem, production));
                      }});
  entrants.push_back({{"crux without search", {}, 0}, by(crux::Policy::kCrux, analytic)});
  for (const auto& [name, budget] :
       {std::pair("crux, budget 50,000", 50'000), std::pair("crux, budget 200,000", 200'000)}) {
    crux::Options less = production;
    less.search.event_budget = budget;
    entrants.push_back({{name, {}, 0}, by(crux::Policy::kCrux, less)});
  }
  for (const crux::Policy policy :
       {crux::Policy::kPublished, crux::Policy::kTaccl, crux::Policy::kVarys,
        crux::Policy::kSincronia, crux::Policy::kEcmp}) {
    entrants.push_back({{std::string(crux::PolicyName(policy)), {}, 0}, by(policy, production)});
  }
  return entrants;
}

}  // namespace

int main(int argc, char** argv) {
  int cases = 1500;
  int first = 1;
  int jitter_cases = 100;
  std::string cache;
  crux::Options production;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    const std::size_t equals = value.find('=');
    if (name == "--cases") cases = std::atoi(value.c_str());
    if (name == "--first") first = std::atoi(value.c_str());
    if (name == "--cache") cache = value;
    if (name == "--jitter-cases") jitter_cases = std::atoi(value.c_str());
    if (name == "--variant" && equals != std::string::npos) {
      bench::Vary(value.substr(0, equals), std::atof(value.c_str() + equals + 1), production);
    }
  }
  Optima optima(cache);
  std::vector<Entrant> entrants = Entrants(production);
  Row disturbed{"crux, profiles 10 % wrong", {}, 0};
  Row jittered{"crux, and 10 % jitter", {}, 0};
  for (int i = 0; i < cases; ++i) {
    const auto seed = static_cast<std::uint64_t>(first + i);
    const crux::Problem problem = bench::MicroCase(seed);
    const double best = optima.Of(seed, problem);
    for (Entrant& entrant : entrants) {
      const double begin = CpuSeconds();
      entrant.row.ratios.push_back(entrant.rate(problem, seed) / best);
      entrant.row.cpu_seconds += CpuSeconds() - begin;
    }
    const crux::Solution mistaken = *crux::Decide(Disturbed(problem, seed), production);
    disturbed.ratios.push_back(RateOf(problem, mistaken) / best);
    if (i < jitter_cases) {
      double rate = 0;
      const crux::SearchState optimum = Optimum(problem, &rate);
      std::vector<std::int32_t> levels;
      for (const auto& job : mistaken.jobs) levels.push_back(job.level);
      jittered.ratios.push_back(
          JitteredUtilisation(problem, crux::PathsOf(mistaken), levels, seed) /
          JitteredUtilisation(problem, optimum.paths, optimum.levels, seed));
    }
    if (i % 50 == 49) std::fprintf(stderr, "%d of %d\n", i + 1, cases);
  }
  for (const Entrant& entrant : entrants) entrant.row.Print();
  disturbed.Print();
  if (!jittered.ratios.empty()) jittered.Print();
  return 0;
}
