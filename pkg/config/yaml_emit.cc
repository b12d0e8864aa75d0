#include <array>
#include <cstdio>

#include "absl/strings/ascii.h"

#include "pkg/base/strings.h"
#include "pkg/config/yaml.h"
#include "pkg/config/yaml_scalar.h"

namespace yardmaster::config {
namespace {

using nlohmann::json;

// Longer keys are not simple keys any more to a YAML reader.
constexpr std::size_t kMaxSimpleKeyBytes = 512;

// Words that a YAML 1.1 reader takes for booleans.
constexpr std::array<std::string_view, 6> kOldBooleans = {"y", "n", "yes", "no", "on", "off"};

bool IsAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Conservative: names, paths, images and sentences stay bare, all else is quoted.
bool IsSafePlain(std::string_view text) {
  constexpr std::string_view kInner = "0123456789 _./-,()%+=@:~";
  if (text.empty() || !(IsAsciiLetter(text.front()) || text.front() == '/')) return false;
  if (text.back() == ' ' || text.back() == ':') return false;
  for (char c : text) {
    if (!IsAsciiLetter(c) && kInner.find(c) == std::string_view::npos) return false;
  }
  if (text.find(": ") != std::string_view::npos) return false;
  const std::string lower = absl::AsciiStrToLower(std::string(text));
  for (std::string_view word : kOldBooleans) {
    if (lower == word) return false;
  }
  const absl::StatusOr<json> typed = TypedScalar(text);
  return typed.ok() && typed->is_string();
}

void AppendQuoted(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const int length = Utf8SequenceLength(text.substr(i));
    const std::string_view piece = text.substr(i, length == 0 ? 1 : length);
    char escape[8];
    if (c == '"' || c == '\\') {
      out.append({'\\', static_cast<char>(c)});
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (c < 0x20 || c == 0x7F) {
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out.append(escape);
    } else if (c == 0xC2 && static_cast<unsigned char>(piece[1]) <= 0xA0) {  // C1 controls, NBSP
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(piece[1]));
      out.append(escape);
    } else if (piece == "\xE2\x80\xA8" || piece == "\xE2\x80\xA9") {  // line, paragraph separator
      out.append(piece == "\xE2\x80\xA8" ? "\\u2028" : "\\u2029");
    } else if (piece == "\xEF\xBB\xBF") {  // byte order mark
      out.append("\\ufeff");
    } else {
      out.append(length == 0 ? "\xEF\xBF\xBD" : piece);
    }
    i += piece.size();
  }
  out.push_back('"');
}

// A block scalar keeps everything only if no line's leading white space could be taken for
// indentation and nothing in it needs an escape.
bool FitsBlock(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == '\n') return false;
  bool line_start = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (line_start && (c == '\t' || (c == ' ' && i == 0))) return false;
    if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7F) return false;
    // A line of blanks only reads back differently with some readers.
    if (line_start && c == ' ') {
      const std::size_t next = text.find_first_not_of(' ', i);
      if (next == std::string_view::npos || text[next] == '\n' || text[next] == '\t') return false;
    }
    line_start = c == '\n';
  }
  return true;
}

class Emitter {
 public:
  std::string Emit(const json& value) {
    Value(value, 0, Place::kRoot);
    return std::move(out_);
  }

 private:
  enum class Place { kRoot, kAfterKey, kAfterDash };

  void Value(const json& value, int indent, Place place) {
    if (value.is_object() && !value.empty()) return Object(value, indent, place);
    if (value.is_array() && !value.empty()) return Array(value, indent, place);
    if (place == Place::kAfterKey) out_.push_back(' ');
    if (value.is_object()) {
      out_.append("{}");
    } else if (value.is_array()) {
      out_.append("[]");
    } else if (value.is_string()) {
      String(value.get_ref<const std::string&>(), place == Place::kRoot ? indent : indent + 2);
    } else {
      out_.append(value.dump());
    }
    out_.push_back('\n');
  }
  void Object(const json& object, int indent, Place place) {
    const int own = place == Place::kRoot ? indent : indent + 2;
    if (place == Place::kAfterKey) out_.push_back('\n');
    bool indented = place == Place::kAfterDash;  // the first key follows its dash
    for (const auto& [key, value] : object.items()) {
      if (!indented) out_.append(own, ' ');
      indented = false;
      Key(key, own);
      Value(value, own, Place::kAfterKey);
    }
  }
  void Array(const json& array, int indent, Place place) {
    // A sequence under a key stands at the key's own indentation, as kubectl writes it.
    const int own = place == Place::kAfterDash ? indent + 2 : indent;
    if (place == Place::kAfterKey) out_.push_back('\n');
    bool indented = place == Place::kAfterDash;
    for (const json& value : array) {
      if (!indented) out_.append(own, ' ');
      indented = false;
      out_.append("- ");
      Value(value, own, Place::kAfterDash);
    }
  }
  void Key(const std::string& key, int indent) {
    std::string text;
    if (IsSafePlain(key)) {
      text = key;
    } else {
      AppendQuoted(text, key);
    }
    if (text.size() > kMaxSimpleKeyBytes) {
      out_.append("? ").append(text).append("\n").append(indent, ' ');
      text.clear();
    }
    out_.append(text).append(":");
  }
  void String(const std::string& text, int indent) {
    if (IsSafePlain(text)) {
      out_.append(text);
    } else if (FitsBlock(text)) {
      Block(text, indent < 2 ? 2 : indent);
    } else {
      AppendQuoted(out_, text);
    }
  }
  void Block(std::string_view text, int indent) {
    const bool ends_line = text.back() == '\n';
    const bool ends_blank = ends_line && text[text.size() - 2] == '\n';
    out_.append(ends_blank ? "|+" : ends_line ? "|" : "|-");
    if (ends_line) text.remove_suffix(1);
    for (const std::string& line : Split(text, '\n')) {
      out_.push_back('\n');
      if (!line.empty()) out_.append(indent, ' ').append(line);
    }
  }

  std::string out_;
};

}  // namespace

std::string EmitYaml(const json& value) { return Emitter().Emit(value); }

}  // namespace yardmaster::config
