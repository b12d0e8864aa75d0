// State that network planning keeps between rounds: the numbers of links in the Crux problem, and
// the memory of Crux (crux/decision_memory.h). One object per network and planner.
//
// The memory makes a round cheaper and does not change its result. Call Clear() when link ids
// change their meaning because the network was described again. Link numbers of a network with
// another number of links are ignored.
//
// Thread safety: one thread.
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
