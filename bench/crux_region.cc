// Where Crux gains, and how much: the region of loads, reached in four independent ways.
//
//   crux_region run RESULTS.csv [--seeds 20] [--first-seed 1] [--jobs 120] [--points uplink=50,load=2,...]
//                               [--policies crux,ecmp,...|all] [--minutes N]
//   crux_region plot RESULTS.csv PLOT.svg
//
// run: for each way to change the load of shared links (placement, uplink speed, bytes per second of
// compute, connections) and each setting, every policy meets the same jobs in `seeds` paired draws. A
// line is added to RESULTS.csv per run; runs that are there already are left out, so a benchmark that was
// stopped, or that ended after --minutes, goes on where it was. All settings of a seed come before the
// next seed. A line of progress per run goes to standard error, with the time that is left at this pace.
// Exit code 3: time was over before all runs were done.
// Points three-layer=SCATTER and recorded-shape=UPLINK_GBPS are on fabrics of three layers (trace_fabrics.h)
// and made when asked for.
// plot: gain of crux over each policy against the time-weighted load of the fullest shared link
// (under ECMP), means with 95 % bootstrap intervals over seeds, as an SVG plot and as a table. A point
// is accepted (marked *) where under ECMP the published shares of jobs and GPUs that meet contention,
// 36.3 and 51 %, come out within a quarter.
//
// A file holds runs of one number of jobs.
//
// Policies: crux; published; the baselines; `paths` (paths of crux, one level) and `levels` (crux's
// levels on paths that a hash drew) split the gain. crux@KEY=VALUE@... changes the production
// configuration: nothing=1 (decides anew at each event), and the keys of bench/variants.h.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
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
#include "bench/variants.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/sim/trace_run.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

constexpr int kResamples = 2000;
constexpr const char* kPolicies[] = {"crux",  "published",     "ecmp",      "sincronia", "cassini",
                                     "taccl", "taccl-arrival", "taccl-job", "paths",     "levels"};

// What a run makes unless told otherwise.
constexpr const char* kUsualPolicies = "crux,ecmp,sincronia,cassini,taccl-arrival,published";

bool Named(const std::string& list, const std::string& name) {
  const std::vector<std::string> names = Split(list, ',');
  return list == "all" || std::find(names.begin(), names.end(), name) != names.end();
}

// Of "uplink=50,uplink=25,load=2".
std::vector<double> ValuesOf(const std::string& points, const std::string& way) {
  std::vector<double> values;
  for (const std::string& point : Split(points, ',')) {
    const std::size_t equals = point.find('=');
    if (equals != std::string::npos && point.substr(0, equals) == way) {
      values.push_back(std::atof(point.c_str() + equals + 1));
    }
  }
  return values;
}

struct Setting {
  std::string way;
  double value = 0;
  int uplink_gbps = 100;
  double scatter = 0.5;
  double load = 1;
  int connections = 8;
  enum class Fabric { kTwoLayer, kThreeLayer, kRecordedShape } fabric = Fabric::kTwoLayer;

  fabric::FabricSpec Spec() const {
    if (fabric == Fabric::kThreeLayer) return bench::ThreeLayer();
    if (fabric == Fabric::kRecordedShape) return bench::RecordedShape(uplink_gbps);
    return bench::TwoLayer(uplink_gbps);
  }
};

std::vector<Setting> Settings(const std::string& points) {
  std::vector<Setting> all;
  const auto add = [&](const std::string& way, std::vector<double> values, auto&& set) {
    if (!points.empty()) values = ValuesOf(points, way);
    for (const double value : values) {
      Setting setting;
      setting.way = way;
      setting.value = value;
      set(setting, value);
      all.push_back(std::move(setting));
    }
  };
  add("placement", {0, 0.5, 1}, [](Setting& s, double v) { s.scatter = v; });
  add("uplink", {200, 50}, [](Setting& s, double v) { s.uplink_gbps = static_cast<int>(v); });
  add("load", {0.01, 1.5}, [](Setting& s, double v) { s.load = v; });
  add("connections", {2}, [](Setting& s, double v) { s.connections = static_cast<int>(v); });
  add("three-layer", {}, [](Setting& s, double v) {
    s.fabric = Setting::Fabric::kThreeLayer;
    s.scatter = v;
  });
  add("recorded-shape", {}, [](Setting& s, double v) {
    s.fabric = Setting::Fabric::kRecordedShape;
    s.uplink_gbps = static_cast<int>(v);
  });
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
  double contended_gpus = 0;
};

std::vector<Result> ReadResults(const std::string& file) {
  std::vector<Result> results;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream row(line);
    Result r;
    if (row >> r.way >> r.value >> r.seed >> r.policy >> r.utilisation >> r.alone >>
        r.shared_load >> r.contended >> r.slowed >> r.worst >> r.contended_gpus) {
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
                                                : policy.substr(0, policy.find_first_of("-@"));
  for (const std::string& change : Split(policy, '@')) {
    const std::size_t equals = change.find('=');
    if (equals == std::string::npos) continue;
    const double value = std::atof(change.c_str() + equals + 1);
    if (change.substr(0, equals) == "nothing") options.decide_from_nothing = value != 0;
    bench::Vary(change.substr(0, equals), value, options.decide);
  }
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
  for (const Result& r : ReadResults(file)) done.emplace(r.way, r.value, r.seed, r.policy);
  const std::vector<sim::ModelSize> sizes = bench::ReadModelSizes();
  const std::vector<Setting> settings = Settings(run.points);
  std::vector<std::string> policies;
  for (const char* policy : kPolicies) {
    if (Named(run.policies, policy)) policies.emplace_back(policy);
  }
  for (const std::string& policy : Split(run.policies, ',')) {
    if (policy.rfind("crux@", 0) == 0) policies.push_back(policy);
  }
  const std::size_t all = settings.size() * static_cast<std::size_t>(run.seeds) * policies.size();
  std::size_t at = 0, made = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int seed = run.first_seed; seed < run.first_seed + run.seeds; ++seed) {
    sim::GenerateOptions generate;
    generate.jobs = run.jobs;
    generate.seed = static_cast<std::uint64_t>(seed);
    const auto trace = sim::GenerateTrace(sizes, generate);
    for (const Setting& setting : settings) {
      const fabric::Network network = bench::BuildNetwork(setting.Spec());
      for (const std::string& policy : policies) {
        ++at;
        if (done.count({setting.way, setting.value, seed, policy}) > 0) continue;
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        if (run.minutes > 0 && spent.count() > 60 * run.minutes) {
          std::fprintf(stderr, "time is over at %zu of %zu\n", at - 1, all);
          return kTimeIsOver;
        }
        const double cpu = CpuSeconds();
        const auto result =
            sim::RunTrace(network, trace, OptionsOf(setting, policy, seed, network));
        if (!result.ok()) {
          std::fprintf(stderr, "%s\n", MessageOf(result.status()).c_str());
          return 1;
        }
        std::ofstream out(file, std::ios::app);
        out << setting.way << ',' << setting.value << ',' << seed << ',' << policy << ','
            << result->utilisation << ',' << result->lone_utilisation << ',' << result->shared_load
            << ',' << result->contended_jobs << ',' << result->slowed_jobs << ','
            << result->worst_slowdown << ',' << result->contended_gpus << '\n';
        if (!out.flush()) {
          std::fprintf(stderr, "%s cannot be written\n", file.c_str());
          return 1;
        }
        ++made;
        const std::chrono::duration<double> now = std::chrono::steady_clock::now() - begin;
        std::fprintf(stderr, "%zu of %zu: seed %d, %s %g, %s: %.1f CPU s; %.0f min left\n", at, all,
                     seed, setting.way.c_str(), setting.value, policy.c_str(), CpuSeconds() - cpu,
                     now.count() / static_cast<double>(made) * static_cast<double>(all - at) / 60);
      }
    }
  }
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

// Published shares of jobs and of GPUs that meet contention.
constexpr double kMetJobs = 0.363;
constexpr double kMetGpus = 0.51;
bool Near(double value, double published) {
  return value > 0.75 * published && value < 1.25 * published;
}

int PlotResults(const std::string& file, const std::string& svg) {
  // By point, policy and seed.
  std::map<std::pair<std::string, double>, std::map<std::string, std::map<int, Result>>> points;
  std::set<std::string> policies;
  for (const Result& r : ReadResults(file)) {
    points[{r.way, r.value}][r.policy][r.seed] = r;
    policies.insert(r.policy);
  }
  std::vector<std::string> shown;
  for (const char* policy : kPolicies) {
    if (policies.count(policy) > 0 && std::string(policy) != "crux") shown.emplace_back(policy);
  }
  for (const std::string& policy : policies) {
    if (policy.rfind("crux@", 0) == 0) shown.push_back(policy);
  }
  Random random(1);
  std::map<std::string, bench::PlotSeries> series;
  std::printf("  %-12s %6s %5s %6s %7s %7s %7s %6s", "way", "value", "seeds", "load", "met", "GPUs",
              "slowed", "worst");
  for (const std::string& policy : shown) std::printf(" %22s", policy.c_str());
  std::printf(" %10s\n", "of alone");
  for (auto& [point, by_policy] : points) {
    std::vector<double> loads, met, gpus, slowed, alone, worst;
    for (const auto& [seed, r] : by_policy["ecmp"]) {
      loads.push_back(r.shared_load);
      met.push_back(r.contended);
      gpus.push_back(r.contended_gpus);
      slowed.push_back(r.slowed);
    }
    for (const auto& [seed, r] : by_policy["crux"]) {
      alone.push_back(r.utilisation / r.alone);
      worst.push_back(r.worst);
    }
    const bool accepted = Near(Mean(met), kMetJobs) && Near(Mean(gpus), kMetGpus);
    std::printf("%c %-12s %6g %5zu %6.2f %6.1f%% %6.1f%% %6.1f%% %6.2f", accepted ? '*' : ' ',
                point.first.c_str(), point.second, alone.size(), Mean(loads), 100 * Mean(met),
                100 * Mean(gpus), 100 * Mean(slowed), Mean(worst));
    for (const std::string& policy : shown) {
      std::vector<double> gains;
      for (const auto& [seed, r] : by_policy[policy]) {
        const auto ours = by_policy["crux"].find(seed);
        if (ours == by_policy["crux"].end()) continue;
        gains.push_back(100 * (ours->second.utilisation / r.utilisation - 1));
      }
      if (gains.empty()) {
        std::printf(" %22s", "-");
        continue;
      }
      const bench::PlotPoint at = Bootstrap(Mean(loads), gains, random);
      std::printf(" %+6.2f [%+6.2f %+6.2f]", at.y, at.low, at.high);
      series[policy].name = StrCat("over ", policy);
      series[policy].points.push_back(at);
    }
    std::printf(" %8.2f %%\n", 100 * Mean(alone));
  }
  bench::Plot plot{"Gain of the production policy in GPU utilisation",
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
    std::fprintf(stderr,
                 "crux_region run RESULTS.csv [--seeds N] [--first-seed N] [--jobs N] "
                 "[--points WAY=VALUE,...] [--policies A,B|all] [--minutes N]\n"
                 "crux_region plot RESULTS.csv PLOT.svg\n");
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
