// What placed jobs get of the network: their traffic as a Crux problem on this fabric, the levels and
// paths decided, and the source ports that carry them out.
//
// Given the present plan (NetworkInput::former), new jobs, jobs that lost a path and jobs whose traffic
// changed by more than a tenth choose paths. Other jobs keep path, port and level unless moving them
// pays for itself (crux/decide.h). Deterministic in the arguments, the order of the jobs included.
// Thread safety: pure.
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
// The jobs that have an assignment; those and the ones that a plan places.
std::vector<PlacedJob> PlacedJobs(const plan::Snapshot& snapshot);
std::vector<PlacedJob> PlacedJobs(const plan::Plan& plan);

// Of a snapshot without a network: no numbers and no paths.
NetworkPlan PlanNetwork(const plan::Snapshot& snapshot, const std::vector<PlacedJob>& placed,
                        const NetworkInput& input = {});

// What placed jobs send over each segment's uplinks, in bytes per second, by SegmentId.
std::vector<double> PredictedUplinkLoad(const plan::Snapshot& snapshot);

}  // namespace yardmaster::netplan
