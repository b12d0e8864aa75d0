// What it gains to look at the predicted load of uplinks among placements that are otherwise equal
// (plan::AvoidContention), against packing alone: docs/evaluation/placement.md has the figures.
//
//   contention_bench [JOBS] [SEEDS] [FIRST_SEED] [GAP_SECONDS] [LARGE_SHARE] [LOAD] [WAYS] [DRAWS]
//                                          default 150 jobs, 5 seeds from 1, 600 s, 0.6, 1,
//                                          contention, 8
// LOAD multiplies the bytes of every job. WAYS, joined by commas, are compared with packing, each
// with the same jobs; with others than `contention` on the fabric with scarce uplinks only:
//   contention    plan::AvoidContention
//   drawn         each job takes, of the equal places that DRAWS random preferences among segments
//                 lead to, the one that the planner's prediction prefers
//   oracle        of these the one at which the jobs that run get most done (FLOP/s) by the
//                 prediction that is reported; it looks at one arrival at a time, so better places
//                 for a series of jobs may exist
//   share-oracle  the same, by the sum of shares of ideal rates, weighted by GPUs
//   moved         as contention; at each instant that is reported jobs may leave their places for
//                 equal ones, chosen as by oracle, one after the other until none gains
//
// On two fabrics of 16 segments of 16 hosts: HPN's (2 to 1 at the ToRs of every rail) and one with
// a single uplink of 200 Gbit/s per ToR, 16 to 1, to see what scarce uplinks change.
//
// The mix: models and sizes of test/data/lingjun-2023/model-gpus.csv (recorded; its README has
// origin and licence), arrivals and run times generated from them by seed
// (simulator/trace_workload.h), more of them large than recorded so that gangs span segments and
// share uplinks. All ways place the same jobs at the same arrivals and departures; what differs is
// only the choice among equals. Reported, as means over time: the load of the busiest segment's
// uplinks and the unevenness (root of the mean square over the mean) as the planner predicts them,
// and the share of its ideal rate that a job is predicted to get once paths and levels are chosen,
// weighted by its GPUs. Then what a way gains over packing in FLOP/s, which is its gain in
// utilisation, and in that share, with 95 % bootstrap intervals over seeds: apart for instants at
// which the fullest uplinks are busy for more than 0.8 of the time (in the mean of both ways), and
// for the others, with what no choice of places of the same objective exceeds: that every job gets
// its ideal rate.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "simulation/bench/contention_replay.h"
#include "simulation/bench/model_sizes.h"

namespace {

using namespace yardmaster;  // NOLINT: a program

using bench::Way;

constexpr double kFullLoad = 0.8;
constexpr int kResamples = 2000;
constexpr const char* kWays[] = {"packing", "contention",   "drawn",
                                 "oracle",  "share-oracle", "moved"};

void Print(const char* name, const bench::Figures& f) {
  std::printf(
      "%-12s busiest/mean %6.3f  rms/mean %6.3f  share %8.5f  split GPUs %6.0f  wait %6.0f s\n",
      name, f.busiest, f.unevenness, f.share, f.split, f.waited);
}

fabric::FabricSpec Scarce(fabric::FabricSpec spec) {
  spec.name = "scarce";
  spec.tiers[0].up_ports = 1;
  spec.tiers[0].up_gbps = 200;
  spec.tiers[1].switches = 1;
  spec.tiers[1].down_gbps = 200;
  return spec;
}

// Of one seed, at instants at which the same jobs run in both ways.
struct Sums {
  double packed_flop = 0, flop = 0, lone_flop = 0;
  double packed_share = 0, share = 0, gpus = 0;
  int samples = 0;

  void Add(const bench::Sample& packed, const bench::Sample& other) {
    packed_flop += packed.flop_rate;
    flop += other.flop_rate;
    lone_flop += packed.lone_flop_rate;
    packed_share += packed.share;
    share += other.share;
    gpus += packed.gpus;
    ++samples;
  }
};

double Percent(double ours, double other) { return other > 0 ? 100 * (ours / other - 1) : 0; }

// Over all seeds, a ratio of sums, since seeds have different numbers of samples.
double Gain(const std::vector<const Sums*>& seeds, double Sums::*ours, double Sums::*other) {
  double a = 0, b = 0;
  for (const Sums* seed : seeds) {
    a += seed->*ours;
    b += seed->*other;
  }
  return Percent(a, b);
}

std::string WithInterval(const std::vector<Sums>& seeds, double Sums::*ours, double Sums::*other) {
  std::vector<const Sums*> all;
  for (const Sums& seed : seeds) all.push_back(&seed);
  Random random(1);
  std::vector<double> gains;
  for (int r = 0; r < kResamples; ++r) {
    std::vector<const Sums*> drawn;
    for (std::size_t i = 0; i < all.size(); ++i) drawn.push_back(all[random.Below(all.size())]);
    gains.push_back(Gain(drawn, ours, other));
  }
  std::sort(gains.begin(), gains.end());
  char text[64];
  std::snprintf(text, sizeof text, "%+.2f [%+.2f, %+.2f] %%", Gain(all, ours, other),
                gains[kResamples / 40], gains[kResamples - 1 - kResamples / 40]);
  return text;
}

// What a way gains over packing, seed by seed.
struct Comparison {
  std::vector<Sums> below, above;  // kFullLoad
  std::vector<double> gains, relief;

  void Add(const std::vector<bench::Sample>& packed, const std::vector<bench::Sample>& other) {
    below.emplace_back();
    above.emplace_back();
    for (std::size_t i = 0; i < std::min(packed.size(), other.size()); ++i) {
      const bench::Sample& a = packed[i];
      const bench::Sample& b = other[i];
      if (a.seconds != b.seconds || a.gpus != b.gpus) continue;  // the queues went other ways
      ((a.load + b.load) / 2 > kFullLoad ? above : below).back().Add(a, b);
    }
  }

  static void Print(const char* when, const std::vector<Sums>& seeds) {
    int samples = 0;
    for (const Sums& seed : seeds) samples += seed.samples;
    if (samples == 0) return;
    std::printf("  load %s: %d samples, FLOP/s %s, share %s; ideal %s\n", when, samples,
                WithInterval(seeds, &Sums::flop, &Sums::packed_flop).c_str(),
                WithInterval(seeds, &Sums::share, &Sums::packed_share).c_str(),
                WithInterval(seeds, &Sums::lone_flop, &Sums::packed_flop).c_str());
  }

  void Print(const std::string& fabric, const char* way) const {
    double gain = 0, squares = 0, less = 0;
    const auto count = static_cast<double>(gains.size());
    for (std::size_t s = 0; s < gains.size(); ++s) {
      gain += gains[s] / count;
      squares += gains[s] * gains[s] / count;
      less += relief[s] / count;
    }
    std::printf(
        "%s, %s: busiest uplinks %.1f %% less loaded; share %+.3f %% +- %.3f over %zu seeds\n",
        fabric.c_str(), way, less, gain, std::sqrt(std::max(0.0, squares - gain * gain)),
        gains.size());
    Print("up to 0.8", below);
    Print("above 0.8", above);
  }
};

void Print(const bench::Choices& choices) {
  std::printf(
      "    %d jobs placed, %d in several segments, of them %d with a choice, %d elsewhere\n",
      choices.placed, choices.spanning, choices.several, choices.other);
}

void Compare(const fabric::FabricSpec& spec, const sim::GenerateOptions& mix, int seeds,
             double load, const std::vector<Way>& ways, int draws) {
  const std::vector<sim::ModelSize> sizes = bench::ReadModelSizes(1024);
  std::vector<Comparison> comparisons(ways.size());
  for (int s = 0; s < seeds; ++s) {
    sim::GenerateOptions generate = mix;
    generate.seed += static_cast<std::uint64_t>(s);
    const auto trace = sim::GenerateTrace(sizes, generate);
    const auto replayed = [&](Way way) {
      return bench::ReplayContention(spec, trace, generate.seed, way, load, draws);
    };
    const bench::ContentionReplay packed = replayed(Way::kPacking);
    std::printf("%s, seed %d\n", spec.name.c_str(), static_cast<int>(generate.seed));
    Print("  packing", packed.figures);
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const bench::ContentionReplay replay = replayed(ways[w]);
      Print(StrCat("  ", kWays[static_cast<int>(ways[w])]).c_str(), replay.figures);
      if (bench::Draws(ways[w])) Print(replay.choices);
      comparisons[w].Add(packed.samples, replay.samples);
      comparisons[w].gains.push_back(Percent(replay.figures.share, packed.figures.share));
      comparisons[w].relief.push_back(-Percent(replay.figures.busiest, packed.figures.busiest));
      Comparison::Print("above 0.8 so far", comparisons[w].above);
      std::fflush(stdout);
    }
  }
  for (std::size_t w = 0; w < ways.size(); ++w) {
    comparisons[w].Print(spec.name, kWays[static_cast<int>(ways[w])]);
  }
}

std::vector<Way> ParseWays(const std::string& names) {
  std::vector<Way> ways;
  for (const std::string& name : Split(names, ',')) {
    const auto* const at = std::find(std::begin(kWays), std::end(kWays), name);
    if (at == std::end(kWays)) {
      std::fprintf(stderr, "unknown way %s\n", name.c_str());
      std::exit(2);
    }
    ways.push_back(static_cast<Way>(at - std::begin(kWays)));
  }
  return ways;
}

}  // namespace

int main(int argc, char** argv) {
  sim::GenerateOptions mix;
  mix.jobs = argc > 1 ? std::atoi(argv[1]) : 150;
  const int seeds = argc > 2 ? std::atoi(argv[2]) : 5;
  mix.seed = static_cast<std::uint64_t>(argc > 3 ? std::atoi(argv[3]) : 1);
  mix.mean_run_seconds = 5400;
  mix.mean_gap_seconds = argc > 4 ? std::atof(argv[4]) : 600;
  mix.large_share = argc > 5 ? std::atof(argv[5]) : 0.6;
  const fabric::FabricSpec hpn = fabric::SmallHpn(1, 16, 17);
  const double load = argc > 6 ? std::atof(argv[6]) : 1;
  const std::vector<Way> ways = ParseWays(argc > 7 ? argv[7] : "contention");
  const int draws = argc > 8 ? std::atoi(argv[8]) : 8;
  Compare(Scarce(hpn), mix, seeds, load, ways, draws);
  if (ways == std::vector{Way::kContention}) Compare(hpn, mix, seeds, load, ways, draws);
  return 0;
}
