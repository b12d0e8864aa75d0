// Decides whether disruption budgets, as they are now, allow all pods of some gangs to be evicted
// at once.
//
// A budget covers pods by its selector. It forbids the eviction if it covers more of the pods than
// it allows, or if its status is older than its spec. A pod that two budgets cover cannot be
// evicted, because the API server refuses it. The result is for decisions only; the API server
// enforces budgets at each eviction.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/disruption_budget.h"
#include "pkg/gather/gather.h"

namespace yardmaster::gather {

// Returns why the pods may not all be evicted, naming the budget; empty: they may.
std::string WhyNotEvictable(const std::vector<api::DisruptionBudget>& budgets,
                            const std::vector<PodPtr>& pods);

}  // namespace yardmaster::gather
