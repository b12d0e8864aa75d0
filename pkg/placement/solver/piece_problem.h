// Builds the problem for gang_search.h from a gang that is cut into pieces, which the search does
// not split.
//
// The finest pieces are atoms. Coarser ones (whole tensor groups, units, components) give smaller
// problems, whose solutions are placements but not always the best ones.
//
// Complexity: near-linear in the sum of group sizes. Deterministic. Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/solver/search_problem.h"

namespace yardmaster::placement {

// Returns the coarser class of every class of `fine`.
std::vector<int> HomeOf(const Partition& fine, const Partition& coarse);

// Returns the stages of every piece, ascending; empty lists if the model does not limit them.
std::vector<std::vector<int>> StagesOf(const GangModel& model, const workload::WorkerGroups& groups,
                                       const Partition& pieces);

SearchProblem ProblemOf(const fabric::Places& places, const GangModel& model,
                        const workload::WorkerGroups& groups, const Capacity& capacity,
                        const Partition& pieces);

}  // namespace yardmaster::placement
