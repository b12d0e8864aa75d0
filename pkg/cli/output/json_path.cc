#include "pkg/cli/output/json_path.h"

#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;
using Values = std::vector<const json*>;

absl::Status Bad(std::string_view expression, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("jsonpath: {", expression, "}: ", why));
}

// Applies ".a.b[0].c[*]" to each of the values.
absl::StatusOr<Values> Select(std::string_view expression, Values values) {
  std::string_view rest = expression;
  if (!rest.empty() && rest.front() == '$') rest.remove_prefix(1);
  while (!rest.empty() && rest != ".") {
    Values next;
    if (rest.front() == '.') {
      rest.remove_prefix(1);
      std::size_t end = 0;
      while (end < rest.size() && rest[end] != '.' && rest[end] != '[') ++end;
      const std::string name(rest.substr(0, end));
      if (name.empty()) return Bad(expression, "a field's name is missing after '.'");
      rest.remove_prefix(end);
      for (const json* value : values) {
        if (value->is_object() && value->contains(name)) next.push_back(&(*value)[name]);
      }
    } else if (rest.front() == '[') {
      const std::size_t end = rest.find(']');
      if (end == std::string_view::npos) return Bad(expression, "']' is missing");
      const std::string_view inside = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
      const auto index = ParseNumber<std::int64_t>(inside);
      if (inside != "*" && !index) return Bad(expression, "write [N] or [*]");
      for (const json* value : values) {
        if (!value->is_array()) continue;
        if (!index) {
          for (const json& item : *value) next.push_back(&item);
          continue;
        }
        const auto size = static_cast<std::int64_t>(value->size());
        const std::int64_t at = *index < 0 ? size + *index : *index;
        if (at >= 0 && at < size) next.push_back(&(*value)[static_cast<std::size_t>(at)]);
      }
    } else {
      return Bad(expression, "begin with '.', for example {.jobs[*].name}");
    }
    values = std::move(next);
  }
  return values;
}

std::string Unquoted(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    ++i;
    out += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
  }
  return out;
}

// Text before the next '{', or the inside of a pair of braces.
struct Piece {
  bool braces = false;
  std::string_view text;
};

absl::StatusOr<std::vector<Piece>> PiecesOf(std::string_view text) {
  std::vector<Piece> pieces;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    if (open != 0) pieces.push_back({false, text.substr(0, open)});
    if (open == std::string_view::npos) break;
    std::size_t close = open + 1;
    for (bool quoted = false; close < text.size() && (quoted || text[close] != '}'); ++close) {
      if (text[close] == '"' && text[close - 1] != '\\') quoted = !quoted;
    }
    if (close == text.size()) return absl::InvalidArgumentError("jsonpath: '}' is missing");
    pieces.push_back({true, text.substr(open + 1, close - open - 1)});
    text.remove_prefix(close + 1);
  }
  return pieces;
}

absl::Status Evaluate(const std::vector<Piece>& pieces, std::size_t& at, const json& document,
                      bool inside_range, std::string& out);

absl::Status EvaluateRange(const std::vector<Piece>& pieces, std::size_t& at, const json& document,
                           std::string& out) {
  YM_ASSIGN_OR_RETURN(const Values values, Select(pieces[at].text.substr(6), {&document}));
  const std::size_t begin = at + 1;
  std::size_t end = begin;
  std::string unused;
  // Finds the end of the range even if there is nothing to repeat.
  YM_RETURN_IF_ERROR(Evaluate(pieces, end, json(), true, unused));
  for (const json* value : values) {
    std::size_t inner = begin;
    YM_RETURN_IF_ERROR(Evaluate(pieces, inner, *value, true, out));
  }
  at = end;
  return absl::OkStatus();
}

absl::Status Evaluate(const std::vector<Piece>& pieces, std::size_t& at, const json& document,
                      bool inside_range, std::string& out) {
  for (; at < pieces.size(); ++at) {
    const auto& [braces, text] = pieces[at];
    if (!braces) {
      out += text;
    } else if (text == "end") {
      if (inside_range) return absl::OkStatus();
      return Bad(text, "there is no {range} before it");
    } else if (text.starts_with("range ")) {
      YM_RETURN_IF_ERROR(EvaluateRange(pieces, at, document, out));
    } else if (text.size() > 1 && text.front() == '"' && text.back() == '"') {
      out += Unquoted(text.substr(1, text.size() - 2));
    } else {
      YM_ASSIGN_OR_RETURN(const Values values, Select(text, {&document}));
      const char* space = "";
      for (const json* value : values) {
        out += space;
        out += value->is_string() ? value->get<std::string>()
                                  : value->dump(-1, ' ', false, json::error_handler_t::replace);
        space = " ";
      }
    }
  }
  return inside_range ? Bad("range", "{end} is missing") : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> EvaluateJsonPath(std::string_view path_template, const json& document) {
  YM_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, PiecesOf(path_template));
  std::string out;
  std::size_t at = 0;
  YM_RETURN_IF_ERROR(Evaluate(pieces, at, document, false, out));
  return out;
}

}  // namespace yardmaster::cli
