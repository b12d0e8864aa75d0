// NetworkPicture is the load that a network plan puts on links, as a small value that outlives the
// plan: load by segment and by tier, the busiest links with their jobs, the paths of each job, and
// the use of GPUs.
//
// Loads are means over an iteration without contention: bytes of an iteration divided by its
// length. A flow without a source port counts on the path that Crux chose for it; a sprayed flow
// counts on all links that carry it.
//
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

// A link between switches, or the first of several links that sprayed flows load equally.
struct LinkPicture {
  std::string name;  // "p0/s0/tor-r0-p0:u0.up"; for several, with " and 59 alike"
  double gbps = 0;
  double capacity_gbps = 0;
  std::vector<JobOnLink> jobs;  // by load, largest first
  std::string shown;            // the name with the operators' name of the switch
};

// The uplinks of the ToRs of a segment.
struct SegmentLoad {
  int uplinks = 0;         // that carry something
  int shared_uplinks = 0;  // by two jobs or more
  double gbps = 0;
  double peak = 0;  // of the busiest one: load over capacity
};

// The uplinks of the ToRs of a plane, in all segments.
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

// The use of the cluster's GPUs.
struct GpuUse {
  double all = 0;     // of available hosts
  double placed = 0;  // of gangs with a place
  // Of `placed`, for gangs with a known compute time: GPUs times the predicted fraction of an
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
  // Predicted fraction of the rate without contention.
  std::optional<double> share;
  // Load in Gbit/s between segments (ids of the snapshot), from and to.
  std::map<std::pair<int, int>, double> between;
  std::vector<SamplePath> sample;  // one for each rank, at most kMaxSample
};

struct NetworkPicture {
  // Places of the snapshot to which segment ids refer.
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

// Returns the picture of a plan. REQUIRES: the plan was computed from the snapshot. Complexity:
// O(flows * links of a path + links of the fabric).
NetworkPicture PictureOf(const netplan::NetworkPlan& plan, const plan::Snapshot& snapshot);

}  // namespace yardmaster::page
