// Makes a place for a waiting gang by moving running gangs, none of which gets a worse place.
//
// For a set of movable gangs the search asks: where would the waiting gang stand without them;
// which of them stand there; and does each of these find another place that is as good as its own?
// They move one after the other, and a gang may take hosts that an earlier one left outside of the
// waiting gang's place. Sets tried: each gang alone, those of a segment, those of a fabric pod, and
// all; each set is reduced, most expensive gang first, while the waiting gang still fits. The
// cheapest answer wins; among equals the one with the fewest moves, then the lowest ids.
//
// Exact, within max_plans, for one move on whole equal hosts if the waiting gang needs one segment.
// Otherwise every answer is valid, but finding none proves nothing.
//
// Complexity: for each set as many plans as it has gangs, and for a set whose gangs are moved at
// most its gangs squared. Deterministic. Thread safety: pure function except for the fleet's plans.
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
  std::vector<PlannedMove> moves;     // in the order in which they are made
  std::vector<fabric::HostId> place;  // the place of the waiting gang afterwards, by rank
};

// nullopt: no set of at most `max_moves` gangs helps.
std::optional<Consolidation> Consolidate(Fleet& fleet, JobId waiting, int max_moves);

}  // namespace yardmaster::plan
