// The network half of a plan: every placed job's traffic as a Crux problem on this fabric, its
// decisions, and the source ports that carry them out.
//
// Given the present plan (NetworkInput::former), new jobs, jobs that lost a path and jobs whose traffic
// changed by more than a tenth choose paths. Other jobs keep path, port and level unless moving them
// pays for itself (crux/decide.h). Deterministic. Thread safety: pure.
#pragma once

#include <vector>

#include "pkg/plan/planner.h"

namespace yardmaster::plan {

// Fills JobPlan::network of placed jobs and, with options.paths, Plan::paths. REQUIRES:
// snapshot.network.
void PlanNetwork(const Snapshot& snapshot, const PlanOptions& options, Plan& plan);

// What placed jobs send over each segment's uplinks, in bytes per second, by SegmentId.
std::vector<double> PredictedUplinkLoad(const Snapshot& snapshot);

}  // namespace yardmaster::plan
