// PathPlan is the source port of every flow, and the resulting load of the links.
//
// A connection is what a job requests between two NICs. A flow is one of its queue pairs in one
// direction. Flows are ordered by (connection, direction, path), so plans of the same connections
// can be compared by position.
//
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/fabric/network.h"
#include "pkg/repac/flow_path.h"
#include "pkg/repac/forwarding_model.h"

namespace yardmaster::repac {

struct Nic {
  fabric::HostId host;
  int rail = 0;
  auto operator<=>(const Nic&) const = default;
};

struct NicConnection {
  Nic from;
  Nic to;
  // Queue pairs per direction, on paths that share no link between switches (HPN section 6.1).
  int paths = 1;
  bool both_directions = true;
  double bytes = 1;  // per direction, sum of all paths
  int plane = -1;    // -1: the planner chooses
  // The exact path, as the links after the source NIC's. The planner chooses later links that are
  // left out, and all if it is empty. `via_back`: for the other direction. REQUIRES: `paths` is 1
  // if one of them is given.
  LinkPath via;
  LinkPath via_back;
};

struct PlannedFlow : FlowPath {
  int connection = 0;
  bool back = false;
  int path = 0;
  NicPort src;
  NicPort dst;
  double bytes = 0;
  NicPort home_src;    // the NIC port of the path at home
  std::string reason;  // why it is not planned
};

struct LinkLoad {
  LinkId link;
  int flows = 0;
  double bytes = 0;
};

// How evenly flows use the uplinks of a ToR, in one direction, and the best possible values.
struct Balance {
  SwitchId tor;
  bool inbound = false;
  int links = 0;  // uplinks that are up
  int flows = 0;
  int max_flows = 0;
  int bound_flows = 0;  // flows / links, rounded up
  double max_bytes = 0;
  double bound_bytes = 0;  // the larger of the mean and the largest flow
};

// What a plan may use, and how far it searches.
struct PathOptions {
  // Cables that failed or are not trusted, although routing may still use them.
  std::vector<CableId> avoid;
  // NICs without source ports (miswired hosts, mistrusted roles): their flows stay unplanned.
  std::vector<Nic> exclude;
  // Maximum number of ports tried for later links, if those are hashed, too.
  int candidates = 24;
  // Whether alternate ports are searched.
  bool alternates = true;
};

struct PathPlan {
  std::vector<PlannedFlow> flows;
  std::vector<LinkLoad> loads;    // links between switches with flows, by id
  std::vector<Balance> balances;  // by (tor, inbound); only ToRs with flows
  int unplanned = 0;              // flows that could not be planned
};

// Computes loads, balances and unplanned from flows.
void Account(const ForwardingModel& forwarding, PathPlan& plan);

}  // namespace yardmaster::repac
