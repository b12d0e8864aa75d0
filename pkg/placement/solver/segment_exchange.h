// Breaks ties after the objective: moves a placement to segments with better scores without
// changing its shape.
//
// The objective depends on segments only through which workers share one and which fabric pod it is
// in. So within a pod a used segment may be exchanged for an unused one with room for its workers,
// and a used pod for an unused one. The sets of segments that can take the loads form a transversal
// matroid. Therefore choosing segments greedily by score, as long as the rest can still be placed,
// gives the least total score within each pod.
//
// Complexity: O(segments^2 log segments) per pod. Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/capacity.h"

namespace yardmaster::placement {

// Rewrites `segment_of_worker`. Capacity counts workers.
void ExchangeSegments(const fabric::Places& places, const Capacity& capacity,
                      std::vector<SegmentScore> scores, std::vector<int>& segment_of_worker);
// The same for workers that may use different hosts, by single moves: each used segment, in
// ascending order, is exchanged for the unused one of its fabric pod with the lowest score that
// takes its workers; if the gang is in one segment, for that of any fabric pod. The total score is
// not always minimal.
void ExchangeForClasses(const fabric::Places& places, const Capacity& capacity,
                        std::vector<SegmentScore> scores, std::vector<int>& segment_of_worker);

}  // namespace yardmaster::placement
