// Amounts of money as people write them: "12.50 USD". Whole millionths of a currency's unit, so
// that sums are exact and comparisons do not depend on rounding. Currencies are never converted.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster::capacity {

// Millionths of one unit of a currency.
using Micros = std::int64_t;

inline constexpr Micros kMicrosPerUnit = 1'000'000;
// Larger amounts are refused, so that a rate times the hosts of a job cannot overflow.
inline constexpr Micros kMaxMicros = 1'000'000'000 * kMicrosPerUnit;

struct Money {
  Micros micros = 0;
  std::string currency;  // ISO 4217: three capital letters
  bool operator==(const Money&) const = default;
};

// "<amount> <currency>" with at most six decimals, for example "0.0125 EUR".
// Errors: InvalidArgument, without a field, on anything else, on negative amounts and on amounts
// above 10^9.
absl::StatusOr<Money> ParseMoney(std::string_view text);

// The shortest text with at least two decimals that ParseMoney (above 10^9: ParseSum) reads as the
// same amount. REQUIRES: not negative.
std::string FormatMoney(const Money& money);

}  // namespace yardmaster::capacity
