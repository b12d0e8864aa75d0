// Amounts that add up: what hosts cost together, and what was spent over months. They may be larger
// than an amount that people write (money.h): in some currencies a host costs millions an hour.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/capacity/money.h"

namespace yardmaster::capacity {

// AddToSum stops here. Every amount that ParseMoney accepts is smaller.
inline constexpr Micros kMaxSum = 9'000'000'000'000 * kMicrosPerUnit;

// At most kMaxSum. REQUIRES: both are sums.
Micros AddToSum(Micros sum, Micros more);

// As ParseMoney, with up to 13 digits before the point; larger amounts than kMaxSum are read as
// kMaxSum.
absl::StatusOr<Money> ParseSum(std::string_view text);

}  // namespace yardmaster::capacity
