// Equal pieces into segments: fewest fabric pods, then fewest segments, then
// the least total score, then the lowest ids.
//
// `capacity[s]` pieces fit into segment s. The fewest fabric pods follow from sums; the fewest
// segments in that many pods from a dynamic program over the pods (most pieces in t segments of k
// pods); the best scores from a second one over the segments. The second is O(segments * pods *
// chosen segments * pieces) and is left out, with `scored` false, where that is large: the caller
// then exchanges segments one by one (segment_exchange.h).
//
// Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/capacity.h"

namespace yardmaster::placement {

struct SegmentCount {
  int segment = 0;
  int count = 0;  // pieces given to it
};

struct WholeChoice {
  bool found = false;
  bool exact = true;    // pods and segments are the fewest
  bool scored = false;  // and the scores the least
  int pods = 0;
  int segments = 0;
  std::vector<SegmentCount> counts;  // by segment, ascending
};

WholeChoice ChooseWhole(const fabric::Places& places, const std::vector<int>& capacity, int pieces,
                        const std::vector<SegmentScore>& scores);

}  // namespace yardmaster::placement
