// The exhaustive solution of small placement problems, written against the definitions (GPU by GPU)
// and sharing nothing with the planner. TESTONLY. Thread safety: pure functions. Complexity:
// exponential in workers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {

// The least objective over all placements, or nothing if there is none.
std::optional<Objective> BruteForce(const Case& c);

// The objective of some placement that is better than `than` (or of any, if nothing is given), by
// exhaustive search that leaves out only branches that are already not better. nullopt if none
// exists.
std::optional<Objective> FindBetter(const Case& c, const std::optional<Objective>& than);

// The least objective over all placements that `holds` does not refuse; it is asked for each part
// of one, too, rank by rank.
std::optional<Objective> LeastObjective(
    const Case& c, const std::function<bool(const std::vector<fabric::HostId>&)>& holds);

// Everything wrong with a placement: room, health, Required limits. Empty: valid.
std::string Faults(const Case& c, const std::vector<fabric::HostId>& host_of_rank);

}  // namespace yardmaster::placement
