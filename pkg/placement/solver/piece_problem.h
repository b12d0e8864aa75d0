// A gang cut into pieces that are not split any further, as a problem for gang_search.h.
//
// The finest pieces are atoms; coarser ones (whole tensor groups, units, components) make smaller
// problems whose solutions are placements, too, but not always the best. Complexity: near-linear in
// the sum of group sizes. Deterministic. Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/solver/search_problem.h"

namespace yardmaster::placement {

// The coarser class of every class of `fine`.
std::vector<int> HomeOf(const Partition& fine, const Partition& coarse);

// Stages of every piece, ascending; empty lists where the model does not limit them.
std::vector<std::vector<int>> StagesOf(const GangModel& model, const workload::WorkerGroups& groups,
                                       const Partition& pieces);

SearchProblem ProblemOf(const fabric::Places& places, const GangModel& model,
                        const workload::WorkerGroups& groups, const Capacity& capacity,
                        const Partition& pieces);

}  // namespace yardmaster::placement
