// What it is worth to know that a job's flows start at several instants and that it reads and
// writes storage: the cases of the micro benchmark with several starts, with storage and with both,
// planned with that knowledge and without, all measured by a simulator of the whole case.
//
//   crux_traffic [CASES] [FIRST_SEED] [analytic]      default 50 cases from seed 1
//
// A plan without starts takes the first start of a job, or their mean by bytes, for all its flows;
// a plan without storage draws the paths of storage at random. Figures are percent of what
// production with full knowledge achieves. `analytic` compares plans without a search, and the
// published policy too.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/crux/intensity.h"
#include "simulation/bench/micro_cases.h"
#include "simulation/policies/policies.h"
#include "simulation/simulator/evaluate.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

struct View {
  enum class Start { kKnown, kFirst, kMean };
  Start start = Start::kKnown;
  bool storage = true;
};

bool IsStorage(const crux::Flow& flow) { return flow.background || flow.every_iterations > 1; }

double MeanStart(const crux::ContendingJob& job) {
  double bytes = 0;
  double sum = 0;
  for (const crux::Flow& flow : job.flows) {
    if (IsStorage(flow)) continue;
    bytes += flow.bytes;
    sum += flow.bytes * crux::StartOf(job, flow);
  }
  return sum / bytes;
}

// The job as a planner with this view gets it.
crux::ContendingJob Seen(const crux::ContendingJob& job, const View& view) {
  crux::ContendingJob seen = job;
  std::erase_if(seen.flows, [&](const crux::Flow& f) { return IsStorage(f) && !view.storage; });
  if (view.start == View::Start::kKnown) return seen;
  seen.communication_start =
      view.start == View::Start::kMean ? MeanStart(job) : crux::FirstStart(seen);
  for (crux::Flow& flow : seen.flows) flow.communication_start.reset();
  return seen;
}

double Achieved(const crux::Problem& truth, const View& view, crux::Policy policy, bool searched,
                std::uint64_t seed) {
  crux::Problem seen = truth;
  for (crux::ContendingJob& job : seen.jobs) job = Seen(job, view);
  crux::Options options;
  options.seed = seed;
  if (!searched) options.search.event_budget = 0;
  crux::Solution solution = *crux::DecideBy(policy, seen, options);
  Random random(seed);
  for (std::size_t j = 0; j < truth.jobs.size(); ++j) {
    auto& paths = solution.jobs[j].paths;
    for (std::size_t f = 0; f < truth.jobs[j].flows.size(); ++f) {
      const auto any = random.Below(truth.jobs[j].flows[f].paths.size());
      if (paths.size() == f) paths.push_back(static_cast<std::int32_t>(any));
    }
  }
  sim::EvaluateOptions window;
  window.window_seconds = sim::DefaultWindow(truth, nullptr);
  return sim::Evaluate(truth, solution, window)->utilisation;
}

struct Row {
  std::string name;
  View view;
  crux::Policy policy = crux::Policy::kCrux;
  bool searched = false;
  std::vector<double> ratios = {};
};

void Print(const Row& row) {
  std::vector<double> sorted = row.ratios;
  std::sort(sorted.begin(), sorted.end());
  const double count = static_cast<double>(sorted.size());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double squares = 0;
  for (const double ratio : sorted) squares += (ratio - mean) * (ratio - mean);
  const double error = std::sqrt(squares / (count * std::max(1.0, count - 1)));
  std::printf("  %-34s mean %7.2f +- %4.2f %%   p1 %6.2f %%   worst %6.2f %%\n", row.name.c_str(),
              100 * mean, 100 * error, 100 * sorted[sorted.size() / 100], 100 * sorted.front());
}

// Only what differs in such cases.
std::vector<Row> Rows(const bench::MicroTraits& traits, bool searched) {
  using Start = View::Start;
  const std::vector<std::pair<Start, std::string>> starts{{Start::kKnown, "knows starts"},
                                                          {Start::kFirst, "first start"},
                                                          {Start::kMean, "mean start"}};
  std::vector<Row> rows;
  for (const crux::Policy policy : {crux::Policy::kCrux, crux::Policy::kPublished}) {
    if (policy == crux::Policy::kPublished && searched) break;
    for (const bool storage : {true, false}) {
      if (!storage && !traits.storage) continue;
      for (const auto& [start, name] : starts) {
        if (start != Start::kKnown && !traits.several_starts) continue;
        const std::string label =
            StrCat(crux::PolicyName(policy), ": ", name, storage ? "" : ", no storage");
        rows.push_back({label, {start, storage}, policy, searched});
      }
    }
  }
  return rows;
}

void Compare(const char* title, const bench::MicroTraits& traits, int cases, int first_seed,
             bool searched) {
  std::vector<Row> rows = Rows(traits, searched);
  for (int i = 0; i < cases; ++i) {
    const auto seed = static_cast<std::uint64_t>(first_seed + i);
    const crux::Problem truth = bench::MicroCase(seed, traits);
    double reference = 0;
    for (Row& row : rows) {
      const double achieved = Achieved(truth, row.view, row.policy, row.searched, seed);
      if (reference == 0) reference = achieved;
      row.ratios.push_back(achieved / reference);
    }
    if (i % 50 == 49) std::fprintf(stderr, "%s: %d of %d\n", title, i + 1, cases);
  }
  std::printf("%s\n", title);
  for (const Row& row : rows) Print(row);
}

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 50;
  const int first_seed = argc > 2 ? std::atoi(argv[2]) : 1;
  const bool searched = argc <= 3 || std::string(argv[3]) != "analytic";
  Compare("several starts", {.several_starts = true, .storage = false}, cases, first_seed,
          searched);
  Compare("storage", {.several_starts = false, .storage = true}, cases, first_seed, searched);
  Compare("both", {.several_starts = true, .storage = true}, cases, first_seed, searched);
  return 0;
}
