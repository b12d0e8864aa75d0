// How much work the uplinks of each segment carry: what the replay of a trace reports and draws
// places by.
//
// Complexity: O(connections of the placed jobs). Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/plan/snapshot.h"

namespace yardmaster::bench {

// The predicted load of each segment's uplinks by the jobs that have an assignment, by SegmentId:
// the bytes per second that they send from and to the segment through its uplinks, each job's
// weighted by its GPU intensity (FLOP per second of communication). All 0 without a network.
std::vector<double> PredictedUplinkLoad(const plan::Snapshot& snapshot);

}  // namespace yardmaster::bench
