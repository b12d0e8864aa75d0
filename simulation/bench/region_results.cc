#include "simulation/bench/region_results.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "pkg/base/strings.h"

namespace yardmaster::bench {
namespace {
constexpr int kResamples = 2000;
}  // namespace

RegionRun RunOf(const PointName& point, int seed, const std::string& policy,
                const sim::TraceResult& result) {
  RegionRun run;
  run.way = point.first;
  run.value = point.second;
  run.seed = seed;
  run.policy = policy;
  run.utilisation = result.utilisation;
  run.alone = result.lone_utilisation;
  run.shared_load = result.shared_load;
  run.contended = result.contended_jobs;
  run.slowed = result.slowed_jobs;
  run.worst = result.worst_slowdown;
  run.contended_gpus = result.contended_gpus;
  run.network_contended = result.network_contended_jobs;
  run.network_share = result.network_share;
  return run;
}

std::string ToLine(const RegionRun& run) {
  std::ostringstream out;
  out << run.way << ',' << run.value << ',' << run.seed << ',' << run.policy << ','
      << run.utilisation << ',' << run.alone << ',' << run.shared_load << ',' << run.contended
      << ',' << run.slowed << ',' << run.worst << ',' << run.contended_gpus << ','
      << run.network_contended << ',' << run.network_share;
  return out.str();
}

std::vector<RegionRun> ReadRuns(const std::string& file) {
  std::vector<RegionRun> runs;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream row(line);
    RegionRun r;
    if (row >> r.way >> r.value >> r.seed >> r.policy >> r.utilisation >> r.alone >>
        r.shared_load >> r.contended >> r.slowed >> r.worst >> r.contended_gpus >>
        r.network_contended >> r.network_share) {
      runs.push_back(std::move(r));
    }
  }
  return runs;
}

Region RegionOf(const std::vector<RegionRun>& runs) {
  Region region;
  for (const RegionRun& run : runs) region[{run.way, run.value}][run.policy][run.seed] = run;
  return region;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double MeanOf(const BySeed& runs, double RegionRun::*field) {
  std::vector<double> values;
  for (const auto& [seed, run] : runs) values.push_back(run.*field);
  return Mean(values);
}

std::vector<double> Gains(const BySeed& ours, const BySeed& other, double RegionRun::*field) {
  std::vector<double> gains;
  for (const auto& [seed, run] : other) {
    const auto mine = ours.find(seed);
    if (mine == ours.end()) continue;
    gains.push_back(100 * (mine->second.*field / (run.*field) - 1));
  }
  return gains;
}

PlotPoint Bootstrap(double x, const std::vector<double>& values, Random& random) {
  std::vector<double> means;
  for (int r = 0; r < kResamples; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[random.Below(values.size())];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  std::sort(means.begin(), means.end());
  return {x, Mean(values), means[kResamples / 40], means[kResamples - 1 - kResamples / 40]};
}

}  // namespace yardmaster::bench
