#include "pkg/crux/search_state.h"

namespace yardmaster::crux {

std::vector<Slot> ChoiceSlots(const Problem& problem, std::span<const std::int32_t> jobs) {
  std::vector<Slot> slots;
  for (const std::int32_t j : jobs) {
    for (std::size_t f = 0; f < problem.jobs[j].flows.size(); ++f) {
      const std::int32_t candidates = problem.jobs[j].flows[f].paths.size();
      if (candidates > 1) slots.push_back({j, static_cast<std::int32_t>(f), candidates});
    }
  }
  return slots;
}

}  // namespace yardmaster::crux
