// Which source port every flow uses, and what that does to the links.
//
// A connection is what a job asks for between two NICs; a flow is one queue pair of it in one
// direction. Flows stand in the order (connection, direction, path), so plans of the same
// connections can be compared position by position. Thread safety: values and pure functions.
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
  double bytes = 1;  // per direction, all paths together
  int plane = -1;    // -1: the planner's choice
  // The path to take exactly, as the links after the source NIC's. Later links may be left out; the
  // planner chooses those. Empty: the planner chooses all. `via_back` is for the other direction.
  // REQUIRES: paths is 1 where one of them is given.
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
  NicPort home_src;    // the NIC port that the path at home leaves by
  std::string reason;  // why not planned
};

struct LinkLoad {
  LinkId link;
  int flows = 0;
  double bytes = 0;
};

// How evenly the flows that leave (or enter) a ToR by its uplinks use them, and what is possible at
// best.
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

// What a plan may use.
struct PathOptions {
  // Cables that have failed, or are not trusted, though routing may still use them.
  std::vector<CableId> avoid;
  // NICs kept out (miswired hosts, mistrusted roles): their flows stay unplanned.
  std::vector<Nic> exclude;
  // Ports tried for the links behind the first where those are hashed as well.
  int candidates = 24;
  // Whether to look for alternate ports.
  bool alternates = true;
};

struct PathPlan {
  std::vector<PlannedFlow> flows;
  std::vector<LinkLoad> loads;    // of links between switches that have flows, by id
  std::vector<Balance> balances;  // by (tor, inbound); only where flows pass
  int unplanned = 0;              // flows that could not be planned
};

// Fills loads, balances and unplanned from flows.
void Account(const ForwardingModel& forwarding, PathPlan& plan);

}  // namespace yardmaster::repac
