#include "pkg/metrics/log_encoding.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::metrics {
namespace {

using nlohmann::json;

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
  const std::size_t begin = out.size();
  out += json(text).dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
  // A control character, too, though not to JSON.
  for (std::size_t at = begin; (at = out.find('\x7F', at)) != out.npos;) {
    out.replace(at, 1, "\\u007f");
  }
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
