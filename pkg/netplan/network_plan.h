// What placed jobs get of the network: their traffic as a Crux problem on this fabric, the levels
// and paths decided, and the source ports that carry them out.
//
// Given the previous plan (NetworkInput::previous), new jobs, jobs that lost a path and jobs whose
// bytes, FLOPs or compute seconds of an iteration changed by more than a tenth choose paths. Other
// jobs keep path, port and level unless moving them pays for itself (crux/decide.h). Deterministic
// in the arguments, the order of the jobs included. Thread safety: pure but for
// NetworkInput::memory, which one call at a time may use.
#pragma once

#include <vector>

#include "pkg/netplan/network_decisions.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::netplan {

struct PlacedJob {
  plan::JobId job;
  std::vector<fabric::HostId> host_of_rank;
};
// The first: the jobs that have an assignment. The second: the jobs whose outcome in the plan is
// kPlaced.
std::vector<PlacedJob> PlacedJobs(const plan::Snapshot& snapshot);
std::vector<PlacedJob> PlacedJobs(const plan::Plan& plan);

// The cables that routing has left (Snapshot::cable_down), by id.
std::vector<fabric::CableId> DownCables(const plan::Snapshot& snapshot);

// A snapshot without a network gives no numbers and no paths. If the Fabric's hashes cannot be
// compiled, jobs get numbers but no paths, NetworkInput::previous is not used, and
// NetworkReport::hashes_problem says why. NetworkReport::problem says why no job got numbers.
NetworkPlan PlanNetwork(const plan::Snapshot& snapshot, const std::vector<PlacedJob>& placed,
                        const NetworkInput& input = {});

}  // namespace yardmaster::netplan
