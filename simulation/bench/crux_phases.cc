// Whether it pays to hold iterations to a schedule of their own (CASSINI's idea) on top of the
// paths and levels that the production policy gives.
//
//   crux_phases [--cases 40] [--first 1]
//
// The cases are those of crux_micro. Each job may be held to a period (its iterations are due so
// far apart, and none begins before it is due) and a phase; both are searched, job by job, by the
// simulator itself, which is more than a cluster could do. Printed is the utilisation, in percent
// of what the jobs reach on an empty network:
//   levels          production, no job is held
//   levels, phases  with the best periods and phases found
// each without jitter, and with compute that differs by up to 10 % from iteration to iteration.
// Phases found without jitter are tried under it as they are (`planned`), and others are searched
// under it and tried with other draws (`searched`). Differences have 95 % bootstrap intervals over
// cases.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/intensity.h"
#include "simulation/bench/micro_cases.h"
#include "simulation/simulator/evaluate.h"
#include "simulation/simulator/simulator.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

constexpr double kJitter = 0.1;
constexpr double kWarmUp = 0.25;          // of the window
constexpr double kWindowIterations = 40;  // of the slowest job
constexpr int kPhases = 6;
constexpr double kStretches[] = {1.0, 1.03, 1.1};
constexpr int kSweeps = 2;
constexpr int kResamples = 2000;
const std::vector<std::uint64_t> kSearchDraws = {1, 2};
const std::vector<std::uint64_t> kTestDraws = {11, 12, 13, 14};

struct Hold {
  double period_seconds = 0;
  double offset_seconds = 0;
};
using Holds = std::vector<Hold>;

class PhaseCase {
 public:
  explicit PhaseCase(std::uint64_t seed) : problem_(bench::MicroCase(seed)) {
    crux::Options options;
    options.seed = seed;
    solution_ = *crux::Decide(problem_, options);
    for (const crux::Link& link : problem_.links) gbps_.push_back(link.gbps);
    for (std::size_t j = 0; j < problem_.jobs.size(); ++j) {
      periods_.push_back(
          crux::IterationSeconds(problem_.jobs[j], solution_.jobs[j].communication_seconds));
    }
  }

  std::size_t jobs() const { return problem_.jobs.size(); }

  // FLOP/s over what the jobs reach alone, as a mean over draws of the jitter.
  double Rate(const Holds& holds, double jitter, const std::vector<std::uint64_t>& draws) const {
    double sum = 0;
    for (const std::uint64_t draw : draws) {
      sum += RateOf(holds, jitter, draw) / static_cast<double>(draws.size());
    }
    return sum;
  }

  Holds Search(double jitter, const std::vector<std::uint64_t>& draws) const {
    Holds best(jobs());
    double value = Rate(best, jitter, draws);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (std::size_t j = 0; j < jobs(); ++j) {
        for (const Hold& hold : HoldsOf(j)) {
          Holds trial = best;
          trial[j] = hold;
          const double other = Rate(trial, jitter, draws);
          if (other <= value) continue;
          value = other;
          best = std::move(trial);
        }
      }
    }
    return best;
  }

 private:
  std::vector<Hold> HoldsOf(std::size_t j) const {
    std::vector<double> periods;
    for (const double stretch : kStretches) periods.push_back(stretch * periods_[j]);
    const double slowest = *std::max_element(periods_.begin(), periods_.end());
    if (slowest < 1.5 * periods_[j]) periods.push_back(slowest);
    std::vector<Hold> holds(1);
    for (const double period : periods) {
      for (int p = 0; p < kPhases; ++p) holds.push_back({period, period * p / kPhases});
    }
    return holds;
  }

  double RateOf(const Holds& holds, double jitter, std::uint64_t draw) const {
    sim::SimulatorOptions options;
    options.compute_jitter = jitter;
    options.seed = draw;
    sim::Simulator simulator(gbps_, options);
    for (std::size_t j = 0; j < jobs(); ++j) {
      sim::SimulatedJob spec =
          sim::SpecOf(problem_.jobs[j], solution_.jobs[j], sim::JobStart::kFresh);
      spec.period_seconds = holds[j].period_seconds;
      spec.offset_seconds = holds[j].offset_seconds;
      simulator.AddJob(spec);
    }
    const double window = kWindowIterations * *std::max_element(periods_.begin(), periods_.end());
    std::vector<double> before;
    if (!simulator.RunUntil(kWarmUp * window).ok()) std::exit(1);
    for (std::size_t j = 0; j < jobs(); ++j) before.push_back(Computed(simulator, j));
    if (!simulator.RunUntil((1 + kWarmUp) * window).ok()) std::exit(1);
    double done = 0, alone = 0;
    for (std::size_t j = 0; j < jobs(); ++j) {
      const crux::ContendingJob& job = problem_.jobs[j];
      done += (Computed(simulator, j) - before[j]) * job.flop_per_iteration / job.compute_seconds;
      alone += window * job.flop_per_iteration / periods_[j];
    }
    return done / alone;
  }
  static double Computed(const sim::Simulator& simulator, std::size_t j) {
    return simulator.Totals(sim::SimulatedJobId(static_cast<std::int32_t>(j))).compute_seconds;
  }

  const crux::Problem problem_;
  crux::Solution solution_;
  std::vector<double> gbps_;
  std::vector<double> periods_;  // alone
};

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void Print(const char* name, const std::vector<double>& rates, const std::vector<double>& levels) {
  std::vector<double> gains, means;
  for (std::size_t i = 0; i < rates.size(); ++i) gains.push_back(100 * (rates[i] / levels[i] - 1));
  Random random(1);
  for (int r = 0; r < kResamples; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < gains.size(); ++i) sum += gains[random.Below(gains.size())];
    means.push_back(sum / static_cast<double>(gains.size()));
  }
  std::sort(means.begin(), means.end());
  std::printf("%-34s %8.3f %%   %+6.2f %% [%+5.2f %+5.2f]   worst %+6.2f %%\n", name,
              100 * Mean(rates), Mean(gains), means[kResamples / 40],
              means[kResamples - 1 - kResamples / 40],
              *std::min_element(gains.begin(), gains.end()));
}

}  // namespace

int main(int argc, char** argv) {
  int cases = 40;
  int first = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--cases") cases = std::atoi(argv[i + 1]);
    if (name == "--first") first = std::atoi(argv[i + 1]);
  }
  std::vector<double> levels, phases, jittered, planned, searched;
  for (int i = 0; i < cases; ++i) {
    const PhaseCase one(static_cast<std::uint64_t>(first + i));
    const Holds none(one.jobs());
    const Holds still = one.Search(0, {1});
    levels.push_back(one.Rate(none, 0, {1}));
    phases.push_back(one.Rate(still, 0, {1}));
    jittered.push_back(one.Rate(none, kJitter, kTestDraws));
    planned.push_back(one.Rate(still, kJitter, kTestDraws));
    searched.push_back(one.Rate(one.Search(kJitter, kSearchDraws), kJitter, kTestDraws));
    if (i % 10 == 9) std::fprintf(stderr, "%d of %d\n", i + 1, cases);
  }
  Print("levels", levels, levels);
  Print("levels, phases", phases, levels);
  Print("10 % jitter: levels", jittered, jittered);
  Print("10 % jitter: levels, planned", planned, jittered);
  Print("10 % jitter: levels, searched", searched, jittered);
  return 0;
}
