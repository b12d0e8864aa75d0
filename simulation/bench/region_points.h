// The points of the region that crux_region measures: they differ in fabric, places and traffic,
// and so in the load of shared links. Thread safety: pure functions.
//
// A point is one change, or several joined by '+', of this setting: two layers with uplinks of
// 100 Gbit/s, half of the hosts of a job scattered, the bytes as they are, 8 connections of a hash.
//   placement=SCATTER      share of hosts that stand anywhere
//   uplink=GBPS            of the ToRs
//   load=FACTOR            of the bytes of every job
//   connections=N          between two GPUs, each with a hash of its own
//   planner=1              places by the planner of the cluster
//   three-layer=SCATTER    the paper's three layers (trace_fabrics.h)
//   recorded-shape=GBPS    three layers in the shape of topo.csv, uplinks of so much
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/fabric/network.h"
#include "simulation/bench/region_results.h"
#include "simulation/simulator/trace_run.h"

namespace yardmaster::bench {

struct RegionPoint {
  PointName name;  // "uplink=25+load", 2
  int uplink_gbps = 100;
  double scatter = 0.5;
  double load = 1;
  int connections = 8;
  bool planner = false;
  enum class Fabric { kTwoLayer, kThreeLayer, kRecordedShape } fabric = Fabric::kTwoLayer;

  fabric::FabricSpec Spec() const;
};

// Reads "uplink=50,uplink=25+load=2"; nullopt where a key is unknown or a value is missing.
std::optional<std::vector<RegionPoint>> ParsePoints(const std::string& points);
// The points that crux_region measures by default, as ParsePoints reads them.
std::string UsualPoints();

// `policy` is a name of ParsePolicy (simulation/policies/policies.h); `taccl-arrival` or
// `taccl-job` (TacclReading); `paths` (paths of crux, one level) or `levels` (crux's levels on
// paths that a hash drew), which split the gain; or crux@KEY=VALUE@..., which changes the
// production configuration by the keys of Vary (variants.h) and by nothing=1 (everything again at
// every event). Unknown keys are ignored; REQUIRES: the name is known.
sim::TraceOptions OptionsOf(const RegionPoint& point, const std::string& policy, int seed,
                            const fabric::Network& network);

}  // namespace yardmaster::bench
