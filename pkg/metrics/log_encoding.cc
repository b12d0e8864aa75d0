#include "pkg/metrics/log_encoding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "pkg/base/strings.h"

namespace yardmaster::metrics {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the valid UTF-8 sequence at the start of `text`, 0 when there is none.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

void AppendEscaped(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte != 0x7F) {
    out.push_back(c);
  } else {
    out += "\\u00";
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
}

bool NeedsQuotes(std::string_view text) {
  return text.empty() || !std::all_of(text.begin(), text.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte > 0x20 && byte < 0x7F && c != '"' && c != '=' && c != '\\';
         });
}

// Numbers and booleans, the same in both formats. JSON has no NaN, so a text says it.
void AppendPlain(std::string& out, const LogValue::Any& value) {
  if (const auto* yes = std::get_if<bool>(&value)) {
    out += *yes ? "true" : "false";
  } else if (const auto* number = std::get_if<double>(&value)) {
    if (!std::isfinite(*number)) return AppendJsonString(out, StrCat(*number));
    out += StrCat(*number);
  } else if (const auto* signed_number = std::get_if<std::int64_t>(&value)) {
    out += StrCat(*signed_number);
  } else if (const auto* unsigned_number = std::get_if<std::uint64_t>(&value)) {
    out += StrCat(*unsigned_number);
  }
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 1) {
      AppendEscaped(out, text[0]);
    } else if (length == 0) {
      out += kReplacement;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out.push_back('"');
}

void AppendJsonField(std::string& out, const LogField& field) {
  out.push_back(',');
  AppendJsonString(out, field.key);
  out.push_back(':');
  if (const auto* text = std::get_if<std::string_view>(&field.value.value())) {
    AppendJsonString(out, *text);
  } else {
    AppendPlain(out, field.value.value());
  }
}

void AppendTextField(std::string& out, const LogField& field) {
  out.push_back(' ');
  out += field.key;
  out.push_back('=');
  const auto* text = std::get_if<std::string_view>(&field.value.value());
  if (text == nullptr) {
    AppendPlain(out, field.value.value());
  } else if (NeedsQuotes(*text)) {
    AppendJsonString(out, *text);
  } else {
    out += *text;
  }
}

}  // namespace yardmaster::metrics
