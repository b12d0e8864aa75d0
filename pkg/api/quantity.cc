#include "pkg/api/quantity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

constexpr double kLimit = 9007199254740992.0;  // 2^53

constexpr std::pair<std::string_view, double> kSuffixes[] = {
    {"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},
    {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
    {"P", 1e15},    {"E", 1e18},    {"Ki", 1024.0}, {"Mi", 1048576.0},
    {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};

// A decimal fraction has no exact binary form: what is a whole number but for that is one.
std::int64_t RoundUp(double value) {
  const double nearest = std::round(value);
  const double error = 4 * std::numeric_limits<double>::epsilon() * std::max(1.0, value);
  return static_cast<std::int64_t>(std::abs(value - nearest) <= error ? nearest : std::ceil(value));
}

}  // namespace

absl::StatusOr<std::int64_t> ParseQuantity(std::string_view text, int scale) {
  auto bad = [&] {
    return absl::InvalidArgumentError(
        StrCat("\"", text, "\" is not a quantity; write a number like 8 or 500m or 64Gi"));
  };
  std::size_t digits = text.find_first_not_of("+0123456789.");
  std::string_view number = text.substr(0, digits);
  std::string_view suffix = digits == std::string_view::npos ? "" : text.substr(digits);
  if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E') && suffix != "Ei") {
    number = text;  // a decimal exponent
    suffix = "";
  }
  if (!number.empty() && number[0] == '+') number.remove_prefix(1);
  const std::optional<double> mantissa = ParseNumber<double>(number);
  if (!mantissa || !std::isfinite(*mantissa) || *mantissa < 0) return bad();
  for (const auto& [name, factor] : kSuffixes) {
    if (name != suffix) continue;
    if (*mantissa * factor > 0x1p63) return bad();
    return RoundUp(std::min(*mantissa * factor * scale, kLimit));
  }
  return bad();
}

std::int64_t ReadQuantity(FieldReader& object, std::string_view key, int scale) {
  const JsonView value = object.Raw(key);
  return value.present() ? ReadQuantity(object, key, value, scale) : 0;
}

std::int64_t ReadQuantity(const FieldReader& object, std::string_view key, JsonView value,
                          int scale) {
  if (value.is_string() || value.is_number()) {
    const std::string text = value.is_string() ? value.Text() : value.ToJson().dump();
    absl::StatusOr<std::int64_t> quantity = ParseQuantity(text, scale);
    if (quantity.ok()) return *quantity;
  }
  object.errors().Add(object.PathOf(key), StrCat("expected a quantity, got ", Shown(value)),
                      "write a number like 8 or 500m or 64Gi");
  return 0;
}

}  // namespace yardmaster::api
