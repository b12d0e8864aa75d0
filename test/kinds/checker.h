// What a cluster shows of the promises, by its Pods, Gangs and Nodes alone: the checker knows
// neither what a test did nor what our processes believe.
//
// Thread safety: pure functions of values.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace yardmaster::testing {

// Items of three lists, each of one moment.
struct ClusterView {
  std::vector<nlohmann::json> pods;
  std::vector<nlohmann::json> gangs;
  std::vector<nlohmann::json> nodes;
};

// Holds at every moment: no host is in two places of the ledger, gangs that have finished left out,
// and none has pods with more GPUs than it has. A sentence for each that is broken.
std::vector<std::string> BrokenPromises(const ClusterView& view);

// Holds when nothing happens any more: no pod waits behind our gate, and each pod of a gang is on
// the host of its slot.
std::vector<std::string> Unfinished(const ClusterView& view);

// Holds when every job has been deleted: no Gang, no pod, and no taint of a promised host.
std::vector<std::string> Leftovers(const ClusterView& view);

}  // namespace yardmaster::testing
