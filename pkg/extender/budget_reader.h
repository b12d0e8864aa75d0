// The disruption budgets of the cluster, listed once a pass and only on demand: nothing else
// of ours reads them. Thread safety: one thread. Lifetimes: the client outlives it.
#pragma once

#include <optional>
#include <vector>

#include "pkg/api/disruption_budget.h"
#include "pkg/extender/pass.h"
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

}  // namespace yardmaster::extender
