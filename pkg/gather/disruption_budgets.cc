#include "pkg/gather/disruption_budgets.h"

#include <cstdint>

#include "pkg/base/strings.h"

namespace yardmaster::gather {

std::string WhyNotEvictable(const std::vector<api::DisruptionBudget>& budgets,
                            const std::vector<PodPtr>& pods) {
  std::vector<std::int64_t> covered(budgets.size(), 0);
  for (const PodPtr& pod : pods) {
    const api::DisruptionBudget* first = nullptr;
    for (std::size_t b = 0; b < budgets.size(); ++b) {
      if (!budgets[b].Covers(pod->metadata.namespace_name, pod->metadata.labels)) continue;
      ++covered[b];
      if (first != nullptr) {
        return StrCat("pod ", pod->metadata.namespace_name, "/", pod->metadata.name,
                      " is covered by the PodDisruptionBudgets ", first->metadata.name, " and ",
                      budgets[b].metadata.name, ", so it may not be evicted");
      }
      first = &budgets[b];
    }
  }
  for (std::size_t b = 0; b < budgets.size(); ++b) {
    if (covered[b] <= budgets[b].disruptions_allowed) continue;
    return StrCat("PodDisruptionBudget ", budgets[b].metadata.namespace_name, "/",
                  budgets[b].metadata.name, " allows ", budgets[b].disruptions_allowed, " of ",
                  Count(covered[b], "pod"), " to be evicted now");
  }
  return "";
}

}  // namespace yardmaster::gather
