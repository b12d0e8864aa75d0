#include "simulation/bench/region_points.h"

#include <cstdlib>

#include "pkg/base/strings.h"
#include "simulation/bench/trace_fabrics.h"
#include "simulation/bench/variants.h"

namespace yardmaster::bench {
namespace {

bool Set(const std::string& way, double value, RegionPoint& point) {
  using Fabric = RegionPoint::Fabric;
  if (way == "placement") {
    point.scatter = value;
  } else if (way == "uplink") {
    point.uplink_gbps = static_cast<int>(value);
  } else if (way == "load") {
    point.load = value;
  } else if (way == "connections") {
    point.connections = static_cast<int>(value);
  } else if (way == "planner") {
    point.planner = value != 0;
  } else if (way == "three-layer") {
    point.fabric = Fabric::kThreeLayer;
    point.scatter = value;
  } else if (way == "recorded-shape") {
    point.fabric = Fabric::kRecordedShape;
    point.uplink_gbps = static_cast<int>(value);
  } else {
    return false;
  }
  return true;
}

std::optional<RegionPoint> ParsePoint(const std::string& text) {
  RegionPoint point;
  for (const std::string& change : Split(text, '+')) {
    const std::size_t equals = change.find('=');
    if (equals == std::string::npos) return std::nullopt;
    const double value = std::atof(change.c_str() + equals + 1);
    if (!Set(change.substr(0, equals), value, point)) return std::nullopt;
    point.name = {text.substr(0, text.rfind('=')), value};
  }
  return point;
}

}  // namespace

fabric::FabricSpec RegionPoint::Spec() const {
  if (fabric == Fabric::kThreeLayer) return ThreeLayer();
  if (fabric == Fabric::kRecordedShape) return RecordedShape(uplink_gbps);
  return TwoLayer(uplink_gbps);
}

std::optional<std::vector<RegionPoint>> ParsePoints(const std::string& points) {
  std::vector<RegionPoint> all;
  for (const std::string& text : Split(points, ',')) {
    std::optional<RegionPoint> point = ParsePoint(text);
    if (!point) return std::nullopt;
    all.push_back(*std::move(point));
  }
  return all;
}

std::string UsualPoints() {
  return "placement=0,placement=0.5,placement=1,uplink=200,uplink=50,load=0.01,load=1.5,"
         "connections=2";
}

sim::TraceOptions OptionsOf(const RegionPoint& point, const std::string& policy, int seed,
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
    Vary(change.substr(0, equals), value, options.decide);
  }
  options.policy = *crux::ParsePolicy(name);
  options.fragmented = 0.45;
  options.connections = point.connections;
  options.host = sim::HostSpecOf(network.spec());
  options.host->pcie_gbps = 252;
  options.seed = static_cast<std::uint64_t>(seed);
  options.max_paths = 32;
  options.scatter = point.scatter;
  options.planner_places = point.planner;
  options.load = point.load;
  return options;
}

}  // namespace yardmaster::bench
