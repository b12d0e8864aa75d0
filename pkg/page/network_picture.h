// What a network plan puts on the fabric's links, as a small value that outlives the plan: load by
// segment and by tier, the busiest links with their jobs, each job's paths, and the GPUs' use.
//
// Loads are means over an iteration without contention: bytes of an iteration over its length. A
// flow without a source port counts on the path that Crux chose for it, one that is sprayed on all
// links that carry it.
// Thread safety: pure functions; a picture is a value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pkg/netplan/network_plan.h"

namespace yardmaster::page {

struct JobOnLink {
  NamespacedName job;
  int level = 0;
  double gbps = 0;
};

// A link between switches, or the first of several that sprayed flows load alike.
struct LinkPicture {
  std::string name;  // "p0/s0/tor-r0-p0:u0.up"; of several with " and 59 alike"
  double gbps = 0;
  double capacity_gbps = 0;
  std::vector<JobOnLink> jobs;  // by load, largest first
  std::string shown;            // the name with the switch as its operators call it
};

// The links that lead up from the ToRs of a segment.
struct SegmentLoad {
  int uplinks = 0;         // that carry something
  int shared_uplinks = 0;  // by two jobs or more
  double gbps = 0;
  double peak = 0;  // of the busiest one: load over capacity
};

// The links that lead up from the ToRs of a plane, of all segments.
struct PlaneLoad {
  int uplinks = 0;         // that carry something
  int shared_uplinks = 0;  // by two jobs or more
  double gbps = 0;
  double peak = 0;  // of the busiest one: load over capacity
  int down = 0;     // cables that are down, hosts' included
};

// All links between two tiers, both directions.
struct LinkClassLoad {
  int loaded = 0;   // links that carry something
  int shared = 0;   // links that two jobs or more use
  double peak = 0;  // of the busiest one: load over capacity
};

// GPUs of the cluster.
struct GpuUse {
  double all = 0;     // of hosts that are not unavailable
  double placed = 0;  // of gangs that have their place
  // Of `placed`, in gangs whose compute time is known: GPUs times the predicted share of an
  // iteration that is spent on compute.
  double computing = 0;
};

struct SamplePath {
  int from_rank = 0;
  int to_rank = 0;
  int rail = 0;
  int source_port = 0;
  std::vector<std::string> links;  // names; empty: not predictable, or sprayed
  std::string reason;              // why no port is planned
};

struct JobPaths {
  int flows = 0;
  int unplanned = 0;
  double gbps = 0;
  // Of the rate that it has without contention, what it is predicted to get.
  std::optional<double> share;
  // Load between segments (ids of the snapshot), from and to.
  std::map<std::pair<int, int>, double> between;
  std::vector<SamplePath> sample;  // one for each rank, as far as kMaxSample reaches
};

struct NetworkPicture {
  // Places of the snapshot: segment ids mean its segments.
  std::shared_ptr<const fabric::Places> places;
  std::vector<SegmentLoad> segments;  // by SegmentId; empty where ToRs serve more than a segment
  std::vector<PlaneLoad> planes;      // by plane; empty: the fabric has one, or ToRs serve several
  std::vector<LinkPicture> busiest;   // by load over capacity, at most kMaxBusiest
  std::map<std::string, LinkClassLoad> classes;  // "host-tor", "tor-agg": tiers by their roles
  GpuUse gpus;
  std::map<NamespacedName, JobPaths> jobs;
  std::string problem;  // why no network was planned
};

inline constexpr int kMaxBusiest = 40;
inline constexpr int kMaxSample = 256;

// REQUIRES: plan was made of snapshot. Complexity: O(flows * links of a path + links of the
// fabric).
NetworkPicture PictureOf(const netplan::NetworkPlan& plan, const plan::Snapshot& snapshot);

}  // namespace yardmaster::page
