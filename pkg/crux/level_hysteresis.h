// Which levels running jobs keep when priorities were computed anew.
//
// Every k and every priority is computed from today's jobs; what damps is the step from priorities to
// levels. A pair of jobs that share a link costs, in units of intensity and judged by today's
// priorities, I of the higher where both have one level, twice that where the lower one stands above.
// In each component of the contention DAG either all running jobs keep their level and new ones take
// the one that costs least, or, where that would cost more than `hysteresis` of the component's
// weight more than the levels found anew, the new levels are taken, but for those jobs that can keep
// theirs at no cost. A component that nothing happened to keeps its levels.
// Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct HeldLevels {
  // By job; outside [0, levels): the job is new.
  std::vector<std::int32_t> levels;
  // Jobs around which something happened. A component without one is left alone.
  std::vector<char> affected;
};

// The cost of `levels` by the definition above. `edges` lead from the higher priority to the lower.
double LevelCost(std::span<const ContentionEdge> edges, std::span<const std::int32_t> levels);

// `fresh` is a valid compression of `edges`. Complexity: O(edges * rounds), rounds are few.
std::vector<std::int32_t> HoldLevels(std::span<const ContentionEdge> edges, std::int32_t levels,
                                     const HeldLevels& held, const std::vector<std::int32_t>& fresh,
                                     double hysteresis);

}  // namespace yardmaster::crux
