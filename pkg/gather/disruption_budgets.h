// Whether disruption budgets, as they are now, let all pods of some gangs go at once.
//
// A budget covers pods by its selector. It stands in the way when more of the asked pods are
// covered than it allows, or when its status is older than its spec; a pod that two budgets cover
// cannot be evicted at all (the API server refuses it). This is for deciding; the API server
// enforces budgets itself at each eviction. Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/disruption_budget.h"
#include "pkg/gather/gather.h"

namespace yardmaster::gather {

// Empty: all of the pods may go. Else why not, naming the budget.
std::string WhyNotEvictable(const std::vector<api::DisruptionBudget>& budgets,
                            const std::vector<PodPtr>& pods);

}  // namespace yardmaster::gather
