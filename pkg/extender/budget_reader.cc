#include "pkg/extender/budget_reader.h"

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"

namespace yardmaster::extender {

const std::vector<api::DisruptionBudget>* BudgetReader::Read(PassReport& report) {
  if (budgets_) return &*budgets_;
  const auto list = kube::ListAll(client_, {kube::PodDisruptionBudgets(), "", "", ""});
  if (!list.ok()) {
    report.errors.push_back(MessageOf(list.status()));
    return nullptr;
  }
  budgets_.emplace();
  for (const kube::ObjectPtr& object : list->items) {
    auto budget = api::DecodeDisruptionBudget(*object);
    if (budget.ok()) budgets_->push_back(*std::move(budget));
  }
  return &*budgets_;
}

}  // namespace yardmaster::extender
