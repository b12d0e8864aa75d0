// What planning the network keeps from one round to the next: the numbers that links have in the
// Crux problem, and what Crux keeps (crux/decision_memory.h). One per network and planner.
//
// A memory makes a round cheaper and does not change its result. Call Clear() when link ids mean
// something else because the network was described again. Link numbers of a network with another
// number of links are ignored.
// Thread safety: single threaded.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/crux/decision_memory.h"
#include "pkg/crux/problem.h"

namespace yardmaster::netplan {

// Numbers in the order in which jobs first used the links, from 0.
struct LinkNumbers {
  std::vector<std::int32_t> number;  // by fabric link; -1: not used yet
  std::vector<crux::Link> links;     // by number
};

struct NetworkMemory {
  LinkNumbers links;
  crux::DecisionMemory decision;

  void Clear() { *this = {}; }
};

}  // namespace yardmaster::netplan
