// Where Crux gains, and how much: the region of loads, reached in four independent ways.
//
//   crux_region run RESULTS.csv [--seeds 20] [--first-seed 1] [--jobs 120] [--points
//   uplink=50,load=2,...]
//                               [--policies crux,ecmp,...|all] [--minutes N]
//   crux_region plot RESULTS.csv PLOT.svg [OURS]
//   crux_region facts RESULTS.csv
//
// run: for each way to change the load of shared links (placement, uplink speed, bytes per second
// of compute, connections) and each setting, every policy meets the same jobs in `seeds` paired
// draws. A line is added to RESULTS.csv per run; runs that are there already are left out, so a
// benchmark that was stopped, or that ended after --minutes, goes on where it was. All settings of
// a seed come before the next seed. A line of progress per run goes to standard error, with the
// time that is left at this pace. Exit code 3: time was over before all runs were done. Points:
// region_points.h. plot: gain of OURS (crux) over each policy against the time-weighted load of the
// fullest shared link (under ECMP), means with 95 % bootstrap intervals over seeds, as an SVG plot
// and as a table. A point is accepted (marked *) where under ECMP the published shares of jobs and
// GPUs that meet contention, 36.3 and 51 %, come out within a quarter.
// facts: what the paper reports against each point, as a table in Markdown (region_facts.h).
//
// A file holds runs of one number of jobs.
//
// Policies: crux; published; the baselines; paths, levels and crux@KEY=VALUE@... (region_points.h).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "simulation/bench/line_plot.h"
#include "simulation/bench/model_sizes.h"
#include "simulation/bench/region_facts.h"
#include "simulation/bench/region_points.h"
#include "simulation/bench/region_results.h"
#include "simulation/bench/trace_fabrics.h"
#include "simulation/simulator/trace_run.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

constexpr const char* kPolicies[] = {"crux",  "published",     "ecmp",      "sincronia", "cassini",
                                     "taccl", "taccl-arrival", "taccl-job", "paths",     "levels"};

// What a run makes unless told otherwise.
constexpr const char* kUsualPolicies = "crux,ecmp,sincronia,cassini,taccl-arrival,published";

bool Named(const std::string& list, const std::string& name) {
  const std::vector<std::string> names = Split(list, ',');
  return list == "all" || std::find(names.begin(), names.end(), name) != names.end();
}

struct RunOptions {
  int seeds = 20;
  int first_seed = 1;
  int jobs = 120;
  double minutes = 0;  // 0: no limit
  std::string points;  // empty: the usual ones
  std::string policies = kUsualPolicies;
};

// Of this process, which other programs do not delay.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr int kTimeIsOver = 3;

int Run(const std::string& file, const RunOptions& run) {
  std::set<std::tuple<std::string, double, int, std::string>> done;
  for (const bench::RegionRun& r : bench::ReadRuns(file)) {
    done.emplace(r.way, r.value, r.seed, r.policy);
  }
  const std::vector<sim::ModelSize> sizes = bench::ReadModelSizes();
  const auto points = bench::ParsePoints(run.points.empty() ? bench::UsualPoints() : run.points);
  if (!points) {
    std::fprintf(stderr, "unknown point in %s\n", run.points.c_str());
    return 2;
  }
  std::vector<std::string> policies;
  for (const char* policy : kPolicies) {
    if (Named(run.policies, policy)) policies.emplace_back(policy);
  }
  for (const std::string& policy : Split(run.policies, ',')) {
    if (policy.rfind("crux@", 0) == 0) policies.push_back(policy);
  }
  const std::size_t all = points->size() * static_cast<std::size_t>(run.seeds) * policies.size();
  std::size_t at = 0, made = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int seed = run.first_seed; seed < run.first_seed + run.seeds; ++seed) {
    sim::GenerateOptions generate;
    generate.jobs = run.jobs;
    generate.seed = static_cast<std::uint64_t>(seed);
    const auto trace = sim::GenerateTrace(sizes, generate);
    for (const bench::RegionPoint& point : *points) {
      const fabric::Network network = bench::BuildNetwork(point.Spec());
      for (const std::string& policy : policies) {
        ++at;
        if (done.count({point.name.first, point.name.second, seed, policy}) > 0) continue;
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        if (run.minutes > 0 && spent.count() > 60 * run.minutes) {
          std::fprintf(stderr, "time is over at %zu of %zu\n", at - 1, all);
          return kTimeIsOver;
        }
        const double cpu = CpuSeconds();
        const auto result =
            sim::RunTrace(network, trace, bench::OptionsOf(point, policy, seed, network));
        if (!result.ok()) {
          std::fprintf(stderr, "%s\n", MessageOf(result.status()).c_str());
          return 1;
        }
        std::ofstream out(file, std::ios::app);
        out << bench::ToLine(bench::RunOf(point.name, seed, policy, *result)) << '\n';
        if (!out.flush()) {
          std::fprintf(stderr, "%s cannot be written\n", file.c_str());
          return 1;
        }
        ++made;
        const std::chrono::duration<double> now = std::chrono::steady_clock::now() - begin;
        std::fprintf(stderr, "%zu of %zu: seed %d, %s %g, %s: %.1f CPU s; %.0f min left\n", at, all,
                     seed, point.name.first.c_str(), point.name.second, policy.c_str(),
                     CpuSeconds() - cpu,
                     now.count() / static_cast<double>(made) * static_cast<double>(all - at) / 60);
      }
    }
  }
  return 0;
}

// Published shares of jobs and of GPUs that meet contention.
constexpr double kMetJobs = 0.363;
constexpr double kMetGpus = 0.51;
bool Near(double value, double published) {
  return value > 0.75 * published && value < 1.25 * published;
}

// The policies of the runs but `ours`, the known ones first.
std::vector<std::string> Others(const bench::Region& region, const std::string& ours) {
  std::set<std::string> policies;
  for (const auto& [point, by_policy] : region) {
    for (const auto& [policy, runs] : by_policy) policies.insert(policy);
  }
  policies.erase(ours);
  std::vector<std::string> others;
  for (const char* policy : kPolicies) {
    if (policies.erase(policy) > 0) others.emplace_back(policy);
  }
  others.insert(others.end(), policies.begin(), policies.end());
  return others;
}

int PlotResults(const std::string& file, const std::string& svg, const std::string& ours) {
  using bench::RegionRun;
  bench::Region region = bench::RegionOf(bench::ReadRuns(file));
  const std::vector<std::string> others = Others(region, ours);
  Random random(1);
  std::map<std::string, bench::PlotSeries> series;
  std::printf("  %-22s %6s %5s %6s %7s %7s %7s %6s", "way", "value", "seeds", "load", "met", "GPUs",
              "slowed", "worst");
  for (const std::string& policy : others) std::printf(" %22s", policy.c_str());
  std::printf(" %10s\n", "of alone");
  for (auto& [point, by_policy] : region) {
    const bench::BySeed& ecmp = by_policy["ecmp"];
    const bench::BySeed& mine = by_policy[ours];
    std::vector<double> alone;
    for (const auto& [seed, r] : mine) alone.push_back(r.utilisation / r.alone);
    const double load = bench::MeanOf(ecmp, &RegionRun::shared_load);
    const double met = bench::MeanOf(ecmp, &RegionRun::contended);
    const double gpus = bench::MeanOf(ecmp, &RegionRun::contended_gpus);
    const bool accepted = Near(met, kMetJobs) && Near(gpus, kMetGpus);
    std::printf("%c %-22s %6g %5zu %6.2f %6.1f%% %6.1f%% %6.1f%% %6.2f", accepted ? '*' : ' ',
                point.first.c_str(), point.second, mine.size(), load, 100 * met, 100 * gpus,
                100 * bench::MeanOf(ecmp, &RegionRun::slowed),
                bench::MeanOf(mine, &RegionRun::worst));
    for (const std::string& policy : others) {
      const std::vector<double> gains = bench::Gains(mine, by_policy[policy]);
      if (gains.empty()) {
        std::printf(" %22s", "-");
        continue;
      }
      const bench::PlotPoint at = bench::Bootstrap(load, gains, random);
      std::printf(" %+6.2f [%+6.2f %+6.2f]", at.y, at.low, at.high);
      series[policy].name = StrCat("over ", policy);
      series[policy].points.push_back(at);
    }
    std::printf(" %8.2f %%\n", 100 * bench::Mean(alone));
  }
  bench::Plot plot{ours == "crux" ? "Gain of the production policy in GPU utilisation"
                                  : StrCat("Gain of ", ours, " in GPU utilisation"),
                   "time-weighted load of the fullest shared link (under ECMP)",
                   "gain, %",
                   {}};
  for (auto& [policy, line] : series) plot.series.push_back(std::move(line));
  std::ofstream(svg) << bench::ToSvg(plot);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 2 ? argv[1] : "";
  if (command == "plot" && argc > 3) {
    return PlotResults(argv[2], argv[3], argc > 4 ? argv[4] : "crux");
  }
  if (command == "facts") {
    const bench::Region region = bench::RegionOf(bench::ReadRuns(argv[2]));
    std::fputs(bench::FactsTable(region).c_str(), stdout);
    return 0;
  }
  if (command != "run") {
    std::fprintf(stderr,
                 "crux_region run RESULTS.csv [--seeds N] [--first-seed N] [--jobs N] "
                 "[--points WAY=VALUE,...] [--policies A,B|all] [--minutes N]\n"
                 "crux_region plot RESULTS.csv PLOT.svg [OURS]\n"
                 "crux_region facts RESULTS.csv\n");
    return 2;
  }
  RunOptions run;
  for (int i = 3; i < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--seeds") {
      run.seeds = std::atoi(value);
    } else if (name == "--first-seed") {
      run.first_seed = std::atoi(value);
    } else if (name == "--jobs") {
      run.jobs = std::atoi(value);
    } else if (name == "--minutes") {
      run.minutes = std::atof(value);
    } else if (name == "--points") {
      run.points = value;
    } else if (name == "--policies") {
      run.policies = value;
    } else {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    }
  }
  return Run(argv[2], run);
}
