// Puts equal pieces into segments with, in this order, the fewest fabric pods, the fewest segments,
// the least total score, and the lowest ids.
//
// `capacity[s]` pieces fit into segment s. The fewest fabric pods follow from sums. The fewest
// segments follow from a dynamic program over the pods (most pieces in t segments of k pods). The
// best scores follow from a second one over the segments, which is O(segments * pods * chosen
// segments * pieces). If that is too large it is omitted and `scored` is false; the caller then
// exchanges segments one by one (segment_exchange.h).
//
// Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/capacity.h"

namespace yardmaster::placement {

struct SegmentCount {
  int segment = 0;
  int count = 0;  // pieces in it
};

struct WholeChoice {
  bool found = false;
  bool exact = true;    // pods and segments are minimal
  bool scored = false;  // the total score is minimal, too
  int pods = 0;
  int segments = 0;
  std::vector<SegmentCount> counts;  // by segment, ascending
};

WholeChoice ChooseWhole(const fabric::Places& places, const std::vector<int>& capacity, int pieces,
                        const std::vector<SegmentScore>& scores);

}  // namespace yardmaster::placement
