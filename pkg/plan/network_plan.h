// The network half of a plan: every placed job's traffic as a Crux problem on this fabric, its
// decisions, and the source ports that carry them out.
//
// A connection between two NICs is one flow per NIC port, so that both planes carry half. A flow's
// candidates are the uplinks of its ToR that are up all the way (at most kMostCandidates, spread
// over the uplinks and begun elsewhere for every host); where later switches have a choice of their
// own, the candidate takes one of them for the load estimate. Deterministic. Thread safety: pure.
#pragma once

#include <vector>

#include "pkg/plan/planner.h"

namespace yardmaster::plan {

inline constexpr int kMostCandidates = 16;

// Fills JobPlan::network of placed jobs and, with options.paths, Plan::paths. REQUIRES:
// snapshot.network.
void PlanNetwork(const Snapshot& snapshot, const PlanOptions& options, Plan& plan);

// What placed jobs send over each segment's uplinks, in bytes per second, by SegmentId.
std::vector<double> PredictedUplinkLoad(const Snapshot& snapshot);

}  // namespace yardmaster::plan
