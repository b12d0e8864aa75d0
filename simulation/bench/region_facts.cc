#include "simulation/bench/region_facts.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "pkg/base/strings.h"

namespace yardmaster::bench {
namespace {

// Published, in percent.
constexpr double kMetJobs = 36.3;
constexpr double kMetGpus = 51;
constexpr double kInNetwork = 50;  // "mostly": of the jobs that meet
constexpr double kWorstLoss = 55.5;
constexpr double kNetworkByPaths = 97;
constexpr double kOverPublished = 1;  // ours
constexpr const char* kPlanned = "planner=1+";

struct GainFact {
  const char* what;
  const char* ours;
  const char* other;
  double least;        // published, two layers
  double least_three;  // and three
};
constexpr GainFact kGains[] = {
    {"priorities alone over Sincronia (paper, day 1: +26 %)", "levels", "sincronia", 26, 26},
    {"priorities alone over TACCL\\*, global (+14 %)", "levels", "taccl", 14, 14},
    {"priorities alone over CASSINI (+5 %)", "levels", "cassini", 5, 5},
    {"production over Sincronia (+13 to +23 %; three layers +4 to +7 %)", "crux", "sincronia", 13,
     4},
    {"production over CASSINI (the same)", "crux", "cassini", 13, 4},
    {"production over TACCL\\* per job (the same)", "crux", "taccl-job", 13, 4},
    {"production over TACCL\\* at arrival (the same)", "crux", "taccl-arrival", 13, 4},
    {"production over TACCL\\* global (the same)", "crux", "taccl", 13, 4},
    {"production over published Crux (target: +1 % above a load of 0.8)", "crux", "published",
     kOverPublished, kOverPublished},
    {"production over ECMP", "crux", "ecmp", 0, 0},
};

bool HasThreeLayers(const PointName& point) {
  return point.first.find("three-layer") != std::string::npos ||
         point.first.find("recorded-shape") != std::string::npos;
}

std::string Number(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Verdict(bool met) { return met ? ", met" : ", missed"; }

bool Near(double value, double published) {
  return value > 0.75 * published && value < 1.25 * published;
}

std::string Name(const PointName& point) {
  return StrCat(point.first, "=", Number("%g", point.second));
}

class Table {
 public:
  explicit Table(const Region& region) : region_(region) {}

  std::string Text() {
    Row("", [](const PointName& point) { return Name(point); });
    text_ += "|---|";
    for (std::size_t p = 0; p < region_.size(); ++p) text_ += "---|";
    text_ += "\n";
    Row("seeds", [&](const PointName& point) { return StrCat(Runs(point, "crux").size()); });
    Row("load of the fullest shared link, ECMP",
        [&](const PointName& point) { return OfEcmp(point, &RegionRun::shared_load, "%.2f", 1); });
    Row("jobs that meet others (36.3 %)",
        [&](const PointName& point) { return Share(point, &RegionRun::contended, kMetJobs); });
    Row("GPUs that do (51 %)",
        [&](const PointName& point) { return Share(point, &RegionRun::contended_gpus, kMetGpus); });
    Row("of these jobs, on the network (\"mostly\")",
        [&](const PointName& point) { return InNetwork(point); });
    Row("worst job (at most -55.5 %)", [&](const PointName& point) { return Worst(point); });
    Row("network utilisation by paths (+97 %)", [&](const PointName& point) {
      return Gain(point, point, "paths", "ecmp", &RegionRun::network_share, kNetworkByPaths);
    });
    for (const GainFact& fact : kGains) {
      Row(fact.what, [&](const PointName& point) {
        const double least = HasThreeLayers(point) ? fact.least_three : fact.least;
        return Gain(point, point, fact.ours, fact.other, &RegionRun::utilisation, least);
      });
    }
    Row("the planner's places over drawn ones, ECMP (HiveD, Muri: +20 %)",
        [&](const PointName& point) {
          return Gain(point, Drawn(point), "ecmp", "ecmp", &RegionRun::utilisation, 20);
        });
    Row("production over ECMP on the planner's places (+11 %)", [&](const PointName& point) {
      if (Drawn(point) == point) return std::string("-");
      return Gain(point, point, "crux", "ecmp", &RegionRun::utilisation, 11);
    });
    Row("production, of what the jobs do alone", [&](const PointName& point) {
      const BySeed& runs = Runs(point, "crux");
      if (runs.empty()) return std::string("-");
      std::vector<double> shares;
      for (const auto& [seed, run] : runs) shares.push_back(100 * run.utilisation / run.alone);
      return Number("%.1f %%", Mean(shares));
    });
    return std::move(text_);
  }

 private:
  template <typename Cell>
  void Row(const std::string& what, Cell&& cell) {
    text_ += StrCat("| ", what, " |");
    for (const auto& [point, runs] : region_) text_ += StrCat(" ", cell(point), " |");
    text_ += "\n";
  }

  const BySeed& Runs(const PointName& point, const std::string& policy) const {
    const auto at = region_.find(point);
    if (at == region_.end()) return none_;
    const auto runs = at->second.find(policy);
    return runs == at->second.end() ? none_ : runs->second;
  }

  // The point of the same name without the planner; itself where there is none in it.
  static PointName Drawn(const PointName& point) {
    const std::string planned = kPlanned;
    if (point.first.rfind(planned, 0) != 0) return point;
    return {point.first.substr(planned.size()), point.second};
  }

  std::string OfEcmp(const PointName& point, double RegionRun::*field, const char* format,
                     double factor) const {
    const BySeed& runs = Runs(point, "ecmp");
    return runs.empty() ? "-" : Number(format, factor * MeanOf(runs, field));
  }

  std::string Share(const PointName& point, double RegionRun::*field, double published) const {
    const BySeed& runs = Runs(point, "ecmp");
    if (runs.empty()) return "-";
    const double percent = 100 * MeanOf(runs, field);
    return Number("%.1f %%", percent) + Verdict(Near(percent, published));
  }

  std::string InNetwork(const PointName& point) const {
    const BySeed& runs = Runs(point, "ecmp");
    const double met = MeanOf(runs, &RegionRun::contended);
    if (met <= 0) return "-";
    const double percent = 100 * MeanOf(runs, &RegionRun::network_contended) / met;
    return Number("%.0f %%", percent) + Verdict(percent > kInNetwork);
  }

  std::string Worst(const PointName& point) const {
    const BySeed& runs = Runs(point, "crux");
    if (runs.empty()) return "-";
    std::vector<double> losses;
    for (const auto& [seed, run] : runs) losses.push_back(100 * (1 - 1 / run.worst));
    const double most = *std::max_element(losses.begin(), losses.end());
    return Number("-%.1f %%", Mean(losses)) + Number(" (of all seeds -%.1f %%)", most) +
           Verdict(most <= kWorstLoss);
  }

  // Of a policy at a point over another at the same or another point.
  std::string Gain(const PointName& point, const PointName& other_point, const char* ours,
                   const char* other, double RegionRun::*field, double least) {
    if (point == other_point && std::string(ours) == other) return "-";
    const std::vector<double> gains = Gains(Runs(point, ours), Runs(other_point, other), field);
    if (gains.empty()) return "-";
    const PlotPoint gain = Bootstrap(0, gains, random_);
    return Number("%+.1f", gain.y) + Number(" [%+.1f,", gain.low) +
           Number(" %+.1f] %%", gain.high) + (least > 0 ? Verdict(gain.y >= least) : "");
  }

  const Region& region_;
  const BySeed none_;
  Random random_{1};
  std::string text_;
};

}  // namespace

std::string FactsTable(const Region& region) { return Table(region).Text(); }

}  // namespace yardmaster::bench
