// Amounts of named resources, as Kubernetes counts them for a pod or a node: cpu in millicores,
// everything else in whole units (bytes, devices, pods).
//
// Thread safety: values and pure functions. Complexity: linear in a list for each amount that is
// set.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace yardmaster::workload {

struct ResourceAmount {
  std::string name;
  std::int64_t amount = 0;
  auto operator<=>(const ResourceAmount&) const = default;
};

// Larger amounts are cut to this: more than any host has, and the sum of a few stays in 64 bits.
inline constexpr std::int64_t kMaxAmount = std::int64_t{1} << 60;

// Ascending by name, each name once. No amount is above kMaxAmount.
using ResourceList = std::vector<ResourceAmount>;

// 0 for a name that is not in the list.
inline std::int64_t AmountOf(const ResourceList& list, std::string_view name) {
  const auto at = std::lower_bound(
      list.begin(), list.end(), name,
      [](const ResourceAmount& entry, std::string_view wanted) { return entry.name < wanted; });
  return at == list.end() || at->name != name ? 0 : at->amount;
}

// Sets the amount of a name; 0 removes it.
inline void SetAmount(ResourceList& list, std::string_view name, std::int64_t amount) {
  amount = std::min(amount, kMaxAmount);
  const auto at = std::lower_bound(
      list.begin(), list.end(), name,
      [](const ResourceAmount& entry, std::string_view wanted) { return entry.name < wanted; });
  const bool found = at != list.end() && at->name == name;
  if (amount == 0) {
    if (found) list.erase(at);
  } else if (found) {
    at->amount = amount;
  } else {
    list.insert(at, {std::string(name), amount});
  }
}

// Adds every amount of `more`.
inline void AddAmounts(ResourceList& list, const ResourceList& more) {
  for (const ResourceAmount& entry : more) {
    SetAmount(list, entry.name, AmountOf(list, entry.name) + entry.amount);
  }
}

// Raises every amount to that of `other` where that is more.
inline void RaiseAmounts(ResourceList& list, const ResourceList& other) {
  for (const ResourceAmount& entry : other) {
    if (AmountOf(list, entry.name) < entry.amount) SetAmount(list, entry.name, entry.amount);
  }
}

}  // namespace yardmaster::workload
