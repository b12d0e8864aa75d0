// Defines the report of a round of the network controller, and the events that follow from it.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/run_once.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/repac/path_trust.h"

namespace yardmaster::op {

// An event on a Fabric or a Gang.
struct NetworkNotice {
  std::string kind;  // "Fabric" or "Gang"
  std::string namespace_name;
  std::string name;
  std::string uid;
  bool warning = false;
  std::string reason;
  std::string note;
};

// `done`: number of statuses and pods that were written. `failures`: of Gangs, Fabrics and pods.
struct RoundReport : RunResult {
  int gangs = 0;                      // placed gangs with a network plan
  int statuses = 0;                   // Gang and Fabric statuses written
  int pods = 0;                       // pods annotated
  int released = 0;                   // pods released by the same patch
  int deferred = 0;                   // pods left for WriteDeferred
  std::vector<std::string> problems;  // input that cannot be used

  netplan::NetworkReport plan;
  double plan_seconds = 0;     // duration of the planning
  std::int64_t waited_ms = 0;  // duration of the writes
  int measured_gangs = 0;      // gangs with measured or blended profiles
  int cables_down = 0;         // cables reported down
  int cables_held = 0;         // cables that are up and held back
  int cables_lossy = 0;        // cables that are up and lose packets
  int lost_segments = 0;
  std::optional<int> lost_domains;  // nullopt: the fabric has no domains
  int miswired_ports = 0;
  int balancing_hosts = 0;
  std::vector<repac::RoleTrust> roles;
  int starving = 0;
  int lifted = 0;
  double oldest_plan_seconds = 0;  // age of the oldest path plan on a pod
};

}  // namespace yardmaster::op
