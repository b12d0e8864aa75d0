// Decides which levels running jobs keep after priorities were recomputed. Only the step from
// priorities to levels is damped; corrections and priorities are always those of the present jobs.
//
// Cost: a pair of jobs that share a link costs the intensity of the job with the higher priority if
// both have the same level, and twice that if the other job has the higher level.
//
// For each component of the contention DAG:
//
//   1. A component without affected or new jobs keeps its levels.
//   2. Otherwise all running jobs keep their levels and new ones take the level with the least
//      cost, unless that exceeds the cost of the new levels by more than `hysteresis` times the
//      weight of the component.
//   3. In that case the component gets the new levels, except for jobs that can keep theirs without
//      cost.
//
// Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct HeldLevels {
  // By job; a value outside [0, levels): the job is new.
  std::vector<std::int32_t> levels;
  // By job; non-zero: the job changed, so its component may get new levels.
  std::vector<char> affected;
};

// `edges` lead from the higher priority to the lower one. `fresh` is a valid compression of them;
// the result may be invalid. Complexity: O(edges * (levels + rounds)), at most 20 rounds.
std::vector<std::int32_t> HoldLevels(std::span<const ContentionEdge> edges, std::int32_t levels,
                                     const HeldLevels& held, const std::vector<std::int32_t>& fresh,
                                     double hysteresis);

}  // namespace yardmaster::crux
