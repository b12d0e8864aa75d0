#include "pkg/page/frame.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::page {

Text TextOf(const nlohmann::json& value) {
  return std::make_shared<const std::string>(
      value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void ShareTexts(const Blocks& before, Blocks& blocks) {
  for (auto& [key, text] : blocks) {
    const auto old = before.find(key);
    if (old != before.end() && *old->second == *text) text = old->second;
  }
}

bool SameTexts(const Blocks& a, const Blocks& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && x.second == y.second;
         });
}

std::string EncodeChange(const Frame* from, const Frame& to) {
  std::string out = StrCat("{\"frame\":", to.id, ",\"from\":");
  out += from == nullptr ? "null" : StrCat(from->id);
  out += StrCat(",\"timeMs\":", to.time_ms, ",\"set\":{");
  const char* comma = "";
  for (const auto& [key, text] : to.blocks) {
    if (from != nullptr) {
      const auto old = from->blocks.find(key);
      if (old != from->blocks.end() && old->second == text) continue;
    }
    out += comma;
    out += *TextOf(key);
    out += ':';
    out += *text;
    comma = ",";
  }
  out += "},\"drop\":[";
  comma = "";
  if (from != nullptr) {
    for (const auto& [key, text] : from->blocks) {
      if (to.blocks.count(key) != 0) continue;
      out += comma;
      out += *TextOf(key);
      comma = ",";
    }
  }
  out += "]}";
  return out;
}

}  // namespace yardmaster::page
