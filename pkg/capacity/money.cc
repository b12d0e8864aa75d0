#include "pkg/capacity/money.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace yardmaster::capacity {
namespace {

constexpr int kDecimals = 6;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsCapital(char c) { return c >= 'A' && c <= 'Z'; }

absl::Status Unreadable() {
  return absl::InvalidArgumentError(
      "is not an amount of money; write an amount and a currency, for example \"12.50 USD\"");
}

}  // namespace

absl::StatusOr<Money> ParseMoney(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return Unreadable();
  const std::string_view amount = text.substr(0, space);
  const std::string_view currency = text.substr(space + 1);
  if (currency.size() != 3 || !std::all_of(currency.begin(), currency.end(), IsCapital)) {
    return Unreadable();
  }
  Micros units = 0;
  Micros fraction = 0;
  int decimals = -1;  // none seen: before the point
  bool digits = false;
  for (const char c : amount) {
    if (c == '.' && decimals < 0 && digits) {
      decimals = 0;
    } else if (!IsDigit(c)) {
      return Unreadable();
    } else if (decimals < 0) {
      digits = true;
      units = units * 10 + (c - '0');
      if (units > kMaxMicros / kMicrosPerUnit) {
        return absl::InvalidArgumentError("is more than 1000000000; write a smaller amount");
      }
    } else {
      if (++decimals > kDecimals) {
        return absl::InvalidArgumentError("has more than 6 decimals; round it");
      }
      fraction = fraction * 10 + (c - '0');
    }
  }
  if (!digits || decimals == 0) return Unreadable();
  for (int i = std::max(decimals, 0); i < kDecimals; ++i) fraction *= 10;
  const Micros micros = units * kMicrosPerUnit + fraction;
  if (micros > kMaxMicros) {
    return absl::InvalidArgumentError("is more than 1000000000; write a smaller amount");
  }
  return Money{micros, std::string(currency)};
}

std::string FormatMoney(const Money& money) {
  std::string fraction = std::to_string(money.micros % kMicrosPerUnit);
  fraction.insert(0, kDecimals - fraction.size(), '0');
  while (fraction.size() > 2 && fraction.back() == '0') fraction.pop_back();
  return StrCat(money.micros / kMicrosPerUnit, ".", fraction, " ", money.currency);
}

}  // namespace yardmaster::capacity
