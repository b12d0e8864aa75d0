// The disruption budgets of the cluster, listed once a pass and only on demand, and whether all pods of
// some gangs may be evicted at once, as the budgets have it now.
//
// A budget covers pods by its selector. It stands in the way when more of the asked pods are covered
// than it allows, or when its status is older than its spec; a pod that two budgets cover cannot be
// evicted at all (the API server refuses it). This is for deciding; the API server enforces budgets
// itself at each eviction. Thread safety: one thread. Lifetimes: the client outlives the reader.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/api/disruption_budget.h"
#include "pkg/extender/ledger/pass.h"
#include "pkg/kube/client.h"

namespace yardmaster::extender {

class BudgetReader {
 public:
  explicit BudgetReader(kube::Client& client) : client_(client) {}
  // At the start of a pass.
  void Forget() { budgets_.reset(); }
  // Null when they cannot be read; the report says why.
  const std::vector<api::DisruptionBudget>* Read(PassReport& report);

 private:
  kube::Client& client_;
  std::optional<std::vector<api::DisruptionBudget>> budgets_;
};

// Empty: all of the pods may go. Else why not, naming the budget.
std::string WhyNotEvictable(const std::vector<api::DisruptionBudget>& budgets,
                            const std::vector<PodPtr>& pods);

}  // namespace yardmaster::extender
