// Which levels running jobs keep when priorities were recomputed.
//
// Every k and every priority is computed from the present jobs; only the step from priorities to
// levels is damped. A pair of jobs that share a link costs, in units of intensity, I of the one
// with the higher present priority where both have one level, and twice that where the lower one
// has the higher level. In each component of the contention DAG either all running jobs keep their
// level and new ones take the one that costs least, or, where that would cost more than
// `hysteresis` of the component's weight more than the levels found again, the new levels are
// taken, but for those jobs that can keep theirs at no cost. A component without affected or new
// jobs keeps its levels. Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct HeldLevels {
  // By job; outside [0, levels): the job is new.
  std::vector<std::int32_t> levels;
  // By job; non-zero: the job changed, and its component may get new levels.
  std::vector<char> affected;
};

// `edges` lead from the higher priority to the lower, and `fresh` is a valid compression of them.
// The result need not be one. Complexity: O(edges * (levels + rounds)), at most 20 rounds.
std::vector<std::int32_t> HoldLevels(std::span<const ContentionEdge> edges, std::int32_t levels,
                                     const HeldLevels& held, const std::vector<std::int32_t>& fresh,
                                     double hysteresis);

}  // namespace yardmaster::crux
