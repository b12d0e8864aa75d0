#include "pkg/capacity/sum.h"

#include <algorithm>

#include "pkg/base/status.h"

namespace yardmaster::capacity {

namespace {

constexpr std::size_t kAmountDigits = 9;  // that ParseMoney takes in any amount
constexpr std::size_t kSumDigits = 13;
constexpr Micros kHighUnit = 1'000'000'000 * kMicrosPerUnit;

}  // namespace

Micros AddToSum(Micros sum, Micros more) { return sum > kMaxSum - more ? kMaxSum : sum + more; }

absl::StatusOr<Money> ParseSum(std::string_view text) {
  const std::size_t digits =
      std::min(text.find_first_not_of("0123456789"), text.size());  // before the point
  if (digits <= kAmountDigits || digits > kSumDigits) return ParseMoney(text);
  const std::size_t high_digits = digits - kAmountDigits;
  YM_ASSIGN_OR_RETURN(Money sum, ParseMoney(text.substr(high_digits)));
  Micros high = 0;
  for (const char c : text.substr(0, high_digits)) high = high * 10 + (c - '0');
  high = std::min(high, kMaxSum / kHighUnit);
  sum.micros = AddToSum(high * kHighUnit, sum.micros);
  return sum;
}

}  // namespace yardmaster::capacity
