// Settles ties after the objective: the same shape of a placement on segments with better scores.
//
// A placement's objective depends on segments only through who shares one and which fabric pod it
// is in. So within a pod any used segment may be exchanged for an unused one with room for its
// workers, and a used pod for an unused one. Which sets of segments can take the loads is a
// transversal matroid, so taking segments greedily by score, as long as the rest can still be
// placed, gives the least total score within each pod. Complexity: O(segments^2 log segments) per
// pod. Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/capacity.h"

namespace yardmaster::placement {

// Rewrites `segment_of_worker`. Capacity counts workers.
void ExchangeSegments(const fabric::Places& places, const Capacity& capacity,
                      std::vector<SegmentScore> scores, std::vector<int>& segment_of_worker);
// The same for workers that may use different hosts, by single moves: each used segment, in
// ascending order, to the unused one of its fabric pod that scores least and takes its workers; the
// segment of a gang that is in one, to that of any fabric pod. The total score is not always the
// least.
void ExchangeForClasses(const fabric::Places& places, const Capacity& capacity,
                        std::vector<SegmentScore> scores, std::vector<int>& segment_of_worker);

}  // namespace yardmaster::placement
