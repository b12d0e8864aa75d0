// The present network plan: the levels and source ports that jobs got by an earlier plan, so
// that the next one changes only what it must.
//
// A flow is known by its two NICs and its NIC port, so a rank that moves to another host takes
// nothing with it. Hosts and links are ids of one network; when hosts come and go, ids mean
// something else, and a PreviousNetwork has to be made anew from names. A process that has just
// started knows ports from the pods' annotations and nothing of links; that is enough to keep every
// port.
//
// *Home* is the path of a flow without failures: a flow that had to leave it returns when all its
// links are up again. Thread safety: values and pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pkg/fabric/link_path.h"
#include "pkg/fabric/network.h"
#include "pkg/workload/job.h"

namespace yardmaster::plan {

struct Plan;
struct Snapshot;

// The part of a job's traffic between two NICs that leaves by one NIC port.
struct FlowKey {
  fabric::HostId from_host;
  int from_rail = 0;
  int port = 0;
  fabric::HostId to_host;
  int to_rail = 0;
  auto operator<=>(const FlowKey&) const = default;
};

struct PreviousFlow {
  std::uint16_t source_port = 0;     // 0: default behaviour
  std::uint16_t alternate_port = 0;  // 0: none
  // The links taken, the source NIC's first. Empty: those that the source port leads over now.
  fabric::LinkPath links;
  std::uint16_t home_port = 0;  // 0: source_port
  fabric::LinkPath home_links;  // empty: the same as links
};

struct PreviousJob {
  int level = -1;         // -1: none
  double correction = 1;  // k_j of Crux
  // What its traffic looked like; 0: unknown, which is treated as unchanged.
  double bytes = 0;
  double flop_per_iteration = 0;
  double compute_seconds = 0;
  std::optional<double> share;  // of its lone rate, as predicted
  std::map<FlowKey, PreviousFlow> flows;
};

using PreviousNetwork = std::map<workload::JobKey, PreviousJob>;

// What holds once `plan` is carried out. Flows that `before` knows and that have no way at present
// are kept as they were, as long as their job has both hosts.
PreviousNetwork Remember(const Plan& plan, const Snapshot& snapshot, const PreviousNetwork& before);

}  // namespace yardmaster::plan
