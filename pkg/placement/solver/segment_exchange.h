// Breaks ties after the objective: moves a placement to segments with better scores without
// changing its structure.
//
// The objective depends on segments only through which workers share a segment and a fabric pod. So
// within a pod a used segment may be exchanged for an unused one with enough capacity, and a used
// pod for an unused one. The sets of segments that can take the loads form a transversal matroid.
// Therefore choosing segments greedily by score, as long as the rest can still be placed, gives the
// least total score within each pod.
//
// Complexity: O(segments^2 log segments) per pod. Deterministic. Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/capacity.h"

namespace yardmaster::placement {

// Rewrites `segment_of_worker`. `capacity` counts workers.
void ExchangeSegments(const fabric::Places& places, const Capacity& capacity,
                      std::vector<SegmentScore> scores, std::vector<int>& segment_of_worker);
// Like ExchangeSegments, for workers that may use different hosts, by single exchanges. Each used
// segment, in ascending order, is exchanged for the unused one of its fabric pod that has the
// lowest score and takes its workers. If the gang is in one segment, segments of all fabric pods
// are considered. The total score is not always minimal.
void ExchangeForClasses(const fabric::Places& places, const Capacity& capacity,
                        std::vector<SegmentScore> scores, std::vector<int>& segment_of_worker);

}  // namespace yardmaster::placement
