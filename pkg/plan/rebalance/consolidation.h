// Finds moves of running gangs that make a place for a waiting gang, such that no moved gang gets a
// worse place.
//
// For a set of movable gangs the search plans the waiting gang as if they were not there,
// determines which of them occupy that place, and looks for another place for each of these that is
// at least as good. The gangs move one after the other; a gang may take hosts that an earlier one
// has left outside of the place.
//
//   - Sets tried: each gang alone, the gangs of each segment, those of each fabric pod, and all
//     movable gangs. If a set gives no answer, the waiting gang is also planned within each single
//     segment of it.
//   - Each set is reduced, most expensive gang first, while the waiting gang still fits.
//   - The answer with the lowest price wins; then the one with the fewest moves, then with the
//     lowest ids.
//
// The search is exact, within max_plans, for one move on whole equal hosts if the waiting gang
// needs one segment. Otherwise every answer is valid, but another one may exist if none is found.
//
// Complexity: for each set, as many plans as it has gangs, and for the moved gangs at most the
// square of their number. Deterministic. Thread safety: pure function, except that it uses up the
// fleet's plans.
#pragma once

#include <optional>
#include <vector>

#include "pkg/plan/rebalance/fleet.h"

namespace yardmaster::plan {

struct PlannedMove {
  JobId job;
  std::vector<fabric::HostId> to;
};

struct Consolidation {
  std::vector<PlannedMove> moves;     // in the order of execution
  std::vector<fabric::HostId> place;  // the place of the waiting gang afterwards, by rank
};

// Returns nullopt if no set of at most `max_moves` gangs was found.
std::optional<Consolidation> Consolidate(Fleet& fleet, JobId waiting, int max_moves);

}  // namespace yardmaster::plan
