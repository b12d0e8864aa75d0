// The runs of crux_region: one point of the region, one seed and one policy each, kept as lines of
// a file so that a benchmark that was stopped goes on where it was. Thread safety: pure functions.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "simulation/bench/line_plot.h"
#include "simulation/simulator/trace_run.h"

namespace yardmaster::bench {

// The text of a point (region_points.h) up to its last '=', and the value after that.
using PointName = std::pair<std::string, double>;

// One run; its figures are fields of sim::TraceResult, by RunOf.
struct RegionRun {
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
  double network_contended = 0;
  double network_share = 1;
};

RegionRun RunOf(const PointName& point, int seed, const std::string& policy,
                const sim::TraceResult& result);
// One line of the file, without its end.
std::string ToLine(const RegionRun& run);
// Lines that are not complete are left out; no runs where the file cannot be read.
std::vector<RegionRun> ReadRuns(const std::string& file);

using BySeed = std::map<int, RegionRun>;
// By point and policy.
using Region = std::map<PointName, std::map<std::string, BySeed>>;
Region RegionOf(const std::vector<RegionRun>& runs);

double Mean(const std::vector<double>& values);
// The mean of one field over all runs.
double MeanOf(const BySeed& runs, double RegionRun::*field);

// The gains of `ours` over `other` in percent, one for each seed that both have.
std::vector<double> Gains(const BySeed& ours, const BySeed& other,
                          double RegionRun::*field = &RegionRun::utilisation);
// Mean and 95 % interval by 2,000 resamples; x as given. REQUIRES: values are not empty.
PlotPoint Bootstrap(double x, const std::vector<double>& values, Random& random);

}  // namespace yardmaster::bench
