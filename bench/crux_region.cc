// Where Crux gains, and how much: the region of loads, reached in four independent ways.
//
//   crux_region run RESULTS.csv [--seeds 20] [--first-seed 1] [--jobs 120] [--ways uplink,load,...]
//   crux_region plot RESULTS.csv PLOT.svg
//
// run: for each way to change the load of shared links (placement, uplink speed, bytes per second of
// compute, connections) and each setting, every policy meets the same jobs in `seeds` paired draws. A
// line is added to RESULTS.csv per run; runs that are there already are left out, so that one that was
// stopped goes on. Progress is shown.
// plot: gain of crux over each policy against the time-weighted load of the fullest shared link
// (under ECMP), means with 95 % bootstrap intervals over seeds, as an SVG plot and as a table.
//
// Policies: crux; published; the baselines; `alone` (the bound: no contention); `paths` (paths of
// crux, one level) and `levels` (crux's levels on paths that a hash drew) split the gain.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "bench/line_plot.h"
#include "bench/model_sizes.h"
#include "bench/trace_fabrics.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/sim/trace_run.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

constexpr int kResamples = 2000;
constexpr const char* kPolicies[] = {"crux",  "published",     "ecmp",      "sincronia", "cassini",
                                     "taccl", "taccl-arrival", "taccl-job", "paths",     "levels"};

struct Setting {
  std::string way;
  double value = 0;
  int uplink_gbps = 100;
  double scatter = 0.5;
  double load = 1;
  int connections = 8;
};

std::vector<Setting> Settings(const std::string& ways) {
  std::vector<Setting> all;
  const auto add = [&](const std::string& way, const std::vector<double>& values, auto&& set) {
    if (!ways.empty() && ways.find(way) == std::string::npos) return;
    for (const double value : values) {
      Setting setting;
      setting.way = way;
      setting.value = value;
      set(setting, value);
      all.push_back(std::move(setting));
    }
  };
  add("placement", {0, 0.25, 0.5, 1}, [](Setting& s, double v) { s.scatter = v; });
  add("uplink", {400, 200, 50, 25},
      [](Setting& s, double v) { s.uplink_gbps = static_cast<int>(v); });
  add("load", {0.01, 0.5, 1.5, 2}, [](Setting& s, double v) { s.load = v; });
  add("connections", {1, 2, 4}, [](Setting& s, double v) { s.connections = static_cast<int>(v); });
  return all;
}

struct Result {
  std::string way;
  double value = 0;
  int seed = 0;
  std::string policy;
  double utilisation = 0;
  double alone = 0;
  double shared_load = 0;
  double contended = 0;
  double slowed = 0;
  double worst = 1;
};

std::vector<Result> ReadResults(const std::string& file) {
  std::vector<Result> results;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream row(line);
    Result r;
    if (row >> r.way >> r.value >> r.seed >> r.policy >> r.utilisation >> r.alone >>
        r.shared_load >> r.contended >> r.slowed >> r.worst) {
      results.push_back(std::move(r));
    }
  }
  return results;
}

sim::TraceOptions OptionsOf(const Setting& setting, const std::string& policy, int seed,
                            const fabric::Network& network) {
  sim::TraceOptions options;
  options.paths_of_crux = policy == "paths";
  options.hashed_paths = policy == "levels";
  if (policy == "taccl-arrival") options.taccl = crux::TacclReading::kAtArrival;
  if (policy == "taccl-job") options.taccl = crux::TacclReading::kPerJob;
  const std::string name = policy == "paths"    ? "ecmp"
                           : policy == "levels" ? "crux"
                                                : policy.substr(0, policy.find('-'));
  options.policy = *crux::ParsePolicy(name);
  options.fragmented = 0.45;
  options.connections = setting.connections;
  options.host = sim::HostSpecOf(network.spec());
  options.host->pcie_gbps = 252;
  options.seed = static_cast<std::uint64_t>(seed);
  options.max_paths = 32;
  options.scatter = setting.scatter;
  options.load = setting.load;
  return options;
}

int Run(const std::string& file, int seeds, int first_seed, int jobs, const std::string& ways) {
  std::set<std::tuple<std::string, double, int, std::string>> done;
  for (const Result& r : ReadResults(file)) done.emplace(r.way, r.value, r.seed, r.policy);
  const std::vector<sim::ModelSize> sizes = bench::ReadModelSizes();
  const std::vector<Setting> settings = Settings(ways);
  const std::size_t all = settings.size() * static_cast<std::size_t>(seeds) * std::size(kPolicies);
  std::size_t at = 0;
  for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
    for (const Setting& setting : settings) {
      const fabric::Network network = bench::BuildNetwork(bench::TwoLayer(setting.uplink_gbps));
      for (const char* policy : kPolicies) {
        ++at;
        if (done.count({setting.way, setting.value, seed, policy}) > 0) continue;
        std::fprintf(stderr, "\r%zu of %zu: %s %g, seed %d, %s          ", at, all,
                     setting.way.c_str(), setting.value, seed, policy);
        sim::GenerateOptions generate;
        generate.jobs = jobs;
        generate.seed = static_cast<std::uint64_t>(seed);
        const auto result = sim::RunTrace(network, sim::GenerateTrace(sizes, generate),
                                          OptionsOf(setting, policy, seed, network));
        if (!result.ok()) {
          std::fprintf(stderr, "\n%s\n", MessageOf(result.status()).c_str());
          return 1;
        }
        std::ofstream out(file, std::ios::app);
        out << setting.way << ',' << setting.value << ',' << seed << ',' << policy << ','
            << result->utilisation << ',' << result->lone_utilisation << ',' << result->shared_load
            << ',' << result->contended_jobs << ',' << result->slowed_jobs << ','
            << result->worst_slowdown << '\n';
      }
    }
  }
  std::fprintf(stderr, "\n");
  return 0;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Mean and 95 % interval by resampling.
bench::PlotPoint Bootstrap(double x, const std::vector<double>& values, Random& random) {
  std::vector<double> means;
  for (int r = 0; r < kResamples; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[random.Below(values.size())];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  std::sort(means.begin(), means.end());
  return {x, Mean(values), means[kResamples / 40], means[kResamples - 1 - kResamples / 40]};
}

int PlotResults(const std::string& file, const std::string& svg) {
  // By point, policy and seed.
  std::map<std::pair<std::string, double>, std::map<std::string, std::map<int, Result>>> points;
  for (const Result& r : ReadResults(file)) points[{r.way, r.value}][r.policy][r.seed] = r;
  Random random(1);
  std::map<std::string, bench::PlotSeries> series;
  std::printf("%-12s %6s %5s %6s %7s %7s", "way", "value", "seeds", "load", "met", "slowed");
  for (const char* policy : kPolicies) std::printf(" %22s", policy);
  std::printf(" %10s\n", "of alone");
  for (auto& [point, by_policy] : points) {
    std::vector<double> loads, met, slowed, alone;
    for (const auto& [seed, r] : by_policy["ecmp"]) {
      loads.push_back(r.shared_load);
      met.push_back(r.contended);
      slowed.push_back(r.slowed);
    }
    for (const auto& [seed, r] : by_policy["crux"]) alone.push_back(r.utilisation / r.alone);
    std::printf("%-12s %6g %5zu %6.2f %6.1f%% %6.1f%%", point.first.c_str(), point.second,
                alone.size(), Mean(loads), 100 * Mean(met), 100 * Mean(slowed));
    for (const char* policy : kPolicies) {
      std::vector<double> gains;
      for (const auto& [seed, r] : by_policy[policy]) {
        const auto ours = by_policy["crux"].find(seed);
        if (ours == by_policy["crux"].end()) continue;
        gains.push_back(100 * (ours->second.utilisation / r.utilisation - 1));
      }
      if (gains.empty()) continue;
      const bench::PlotPoint at = Bootstrap(Mean(loads), gains, random);
      std::printf(" %+6.2f [%+6.2f %+6.2f]", at.y, at.low, at.high);
      if (std::string(policy) == "crux") continue;
      series[policy].name = StrCat("over ", policy);
      series[policy].points.push_back(at);
    }
    std::printf(" %8.2f %%\n", 100 * Mean(alone));
  }
  bench::Plot plot{"Gain of the production policy in GPU utilisation, two layers",
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
  if (command == "plot" && argc > 3) return PlotResults(argv[2], argv[3]);
  if (command != "run") {
    std::fprintf(
        stderr,
        "crux_region run RESULTS.csv [--seeds N] [--first-seed N] [--jobs N] [--ways A,B]\n"
        "crux_region plot RESULTS.csv PLOT.svg\n");
    return 2;
  }
  int seeds = 20, first_seed = 1, jobs = 120;
  std::string ways;
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seeds") seeds = std::atoi(argv[i + 1]);
    if (name == "--first-seed") first_seed = std::atoi(argv[i + 1]);
    if (name == "--jobs") jobs = std::atoi(argv[i + 1]);
    if (name == "--ways") ways = argv[i + 1];
  }
  return Run(argv[2], seeds, first_seed, jobs, ways);
}
