// Makes place for a waiting gang by moving running ones, none of which gets a worse place.
//
// For a set of gangs that may move: where would the waiting gang stand without them; which of them
// are in the way there; and does each of these find a place elsewhere that is as good as its own?
// They go one after the other, and what one of them leaves outside the waiting gang's place the
// next may take. Sets tried: each gang by itself, those in a segment, those in a fabric pod, and
// all; each is thinned out, dearest gang first, while the waiting gang still fits. The cheapest
// answer counts, of equal ones that with the fewest moves, then the lowest ids.
//
// Exact, within max_plans, for one move on whole hosts that are alike, where the waiting gang needs
// one segment. Otherwise an answer holds, and not to find one proves nothing.
//
// Complexity: for each set as many plans as it has gangs, and for a set that is rehoused at most
// its gangs squared. Deterministic. Thread safety: pure function but for the fleet's plans.
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
  std::vector<fabric::HostId> place;  // of the waiting gang afterwards, by rank
};

// nullopt: no set of at most `max_moves` gangs helps.
std::optional<Consolidation> Consolidate(Fleet& fleet, JobId waiting, int max_moves);

}  // namespace yardmaster::plan
