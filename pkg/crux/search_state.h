// What a search over schedules changes: the path of each flow that has a choice, and each job's
// level. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct SearchState {
  Paths paths;
  std::vector<std::int32_t> levels;
};

// A flow with more than one candidate.
struct Slot {
  std::int32_t job = 0;
  std::int32_t flow = 0;
  std::int32_t candidates = 0;
};

// Of `jobs`, in their order.
std::vector<Slot> ChoiceSlots(const Problem& problem, std::span<const std::int32_t> jobs);

}  // namespace yardmaster::crux
