#include "pkg/config/yaml_scalar.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::config {
namespace {

using nlohmann::json;

bool AllOf(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

constexpr std::string_view kDigits = "0123456789";

std::optional<json> Integer(bool negative, std::string_view digits, int base) {
  std::uint64_t magnitude = 0;
  const char* end = digits.data() + digits.size();
  auto [at, error] = std::from_chars(digits.data(), end, magnitude, base);
  if (error != std::errc() || at != end) return std::nullopt;
  if (!negative) return json(magnitude);
  if (magnitude > std::uint64_t{1} << 63) return std::nullopt;
  return json(static_cast<std::int64_t>(~magnitude + 1));
}

// [0-9]+ (\.[0-9]*)? | \.[0-9]+, then ([eE][-+]?[0-9]+)?
bool IsDecimalNumber(std::string_view text) {
  std::size_t i = 0;
  std::size_t mantissa_digits = 0;
  auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - start;
  };
  mantissa_digits += digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    mantissa_digits += digits();
  }
  if (mantissa_digits == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

absl::StatusOr<json> DecimalNumber(std::string_view plain, bool negative, std::string_view text) {
  // strtod and not from_chars: on a number out of range it tells the too small (zero will do) from
  // the too large.
  const double value = std::strtod(std::string(text).c_str(), nullptr);
  if (!std::isfinite(value)) {
    return absl::InvalidArgumentError(
        StrCat("the number ", plain, " is out of range; quote it if it is a text"));
  }
  return json(negative ? -value : value);
}

}  // namespace

absl::StatusOr<json> TypedScalar(std::string_view plain) {
  if (plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL") {
    return json(nullptr);
  }
  if (plain == "true" || plain == "True" || plain == "TRUE") return json(true);
  if (plain == "false" || plain == "False" || plain == "FALSE") return json(false);

  const bool negative = plain.front() == '-';
  std::string_view text = plain;
  if (negative || plain.front() == '+') text.remove_prefix(1);
  if (text == ".inf" || text == ".Inf" || text == ".INF" || plain == ".nan" || plain == ".NaN" ||
      plain == ".NAN") {
    return absl::InvalidArgumentError(StrCat(plain, " has no JSON form; quote it if it is a text"));
  }
  std::optional<json> integer;
  if (AllOf(text, kDigits)) {
    const bool octal = text.size() > 1 && text.front() == '0' && AllOf(text, "01234567");
    integer = Integer(negative, text, octal ? 8 : 10);
  } else if (text.starts_with("0x") && AllOf(text.substr(2), "0123456789abcdefABCDEF")) {
    integer = Integer(negative, text.substr(2), 16);
  } else if (text.starts_with("0o") && AllOf(text.substr(2), "01234567")) {
    integer = Integer(negative, text.substr(2), 8);
  }
  if (integer) return *std::move(integer);
  if (IsDecimalNumber(text)) return DecimalNumber(plain, negative, text);
  return json(std::string(plain));
}

int Utf8SequenceLength(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const int length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < static_cast<std::size_t>(length)) return 0;
  for (int i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Over-long forms, surrogates, beyond U+10FFFF.
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

std::optional<TextPosition> FindUnprintable(std::string_view text) {
  TextPosition at;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool control =
        (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
    const int length = Utf8SequenceLength(text.substr(i));
    if (control || length == 0) return at;
    if (c == '\n') {
      ++at.line;
      at.column = 1;
    } else {
      ++at.column;
    }
    i += length;
  }
  return std::nullopt;
}

}  // namespace yardmaster::config
