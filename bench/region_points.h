// The points of the region that crux_region measures: fabrics, places and traffic that load shared links
// differently. Thread safety: pure functions.
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

#include "bench/region_results.h"
#include "pkg/fabric/network.h"
#include "pkg/sim/trace_run.h"

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

// Of "uplink=50,uplink=25+load=2"; nullopt: there is no such point.
std::optional<std::vector<RegionPoint>> ParsePoints(const std::string& points);
// What is measured where nothing is said.
std::string UsualPoints();

// Every policy by its name; `paths` (paths of crux, one level) and `levels` (crux's levels on paths that a
// hash drew) split the gain. crux@KEY=VALUE@... changes the production configuration.
sim::TraceOptions OptionsOf(const RegionPoint& point, const std::string& policy, int seed,
                            const fabric::Network& network);

}  // namespace yardmaster::bench
