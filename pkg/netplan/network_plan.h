// Plans the network of placed jobs: their traffic as a Crux problem on the fabric, the levels and
// paths that Crux decides, and the source ports that implement them.
//
// With a previous plan (NetworkInput::previous) these jobs choose paths: new jobs, jobs that lost a
// path, and jobs whose bytes, FLOPs or compute seconds of an iteration changed by more than a
// tenth. Other jobs keep path, port and level unless a change is worth its cost (crux/decide.h).
//
// Deterministic in the arguments, including the order of the jobs. Thread safety: pure except for
// NetworkInput::memory, which only one call at a time may use.
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
// The first returns the jobs with an assignment, the second those whose outcome in the plan is
// kPlaced.
std::vector<PlacedJob> PlacedJobs(const plan::Snapshot& snapshot);
std::vector<PlacedJob> PlacedJobs(const plan::Plan& plan);

// Returns the cables that routing no longer uses (Snapshot::cable_down), by id.
std::vector<fabric::CableId> DownCables(const plan::Snapshot& snapshot);

// Plans the network. Without snapshot.network there are no numbers and no paths. If the Fabric's
// hashes cannot be compiled, jobs get numbers but no paths, NetworkInput::previous is ignored, and
// NetworkReport::hashes_problem has the reason. NetworkReport::problem has the reason if no job got
// numbers.
NetworkPlan PlanNetwork(const plan::Snapshot& snapshot, const std::vector<PlacedJob>& placed,
                        const NetworkInput& input = {});

}  // namespace yardmaster::netplan
