// What is required of text and lists besides their types. FieldReader checks it where it reads what
// people wrote, and the schemas in crds/ have it (field_visitor.h). Rules that several kinds share
// are here. Thread safety: values and pure functions.
#pragma once

#include <limits>
#include <string_view>

namespace yardmaster::api {

inline constexpr int kNoLimit = std::numeric_limits<int>::max();

struct TextRule {
  int max_length = kNoLimit;  // in characters
  int min_length = 0;
  // Null: any text. `form` says what it accepts, to people, and `pattern` is the same for the
  // schema.
  bool (*matches)(std::string_view text) = nullptr;
  const char* form = "";
  const char* pattern = "";
};

struct ListRule {
  int max_entries = kNoLimit;
  int min_entries = 0;
  bool is_set = false;  // no two entries are equal
  // Entries are objects, and no two of them are equal in this field; "": they may be.
  std::string_view map_key = "";
};

constexpr TextRule NotEmpty(TextRule rule) {
  rule.min_length = 1;
  return rule;
}

// A label of DNS that begins with a letter, of at most `max_length` characters.
inline bool IsDnsLabel(std::string_view text) {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z' && text.back() != '-' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == text.npos;
}
constexpr TextRule DnsLabel(int max_length) {
  return {max_length, 1, IsDnsLabel,
          "lower-case letters, digits and -, starting with a letter and not ending with -",
          "^[a-z]([-a-z0-9]*[a-z0-9])?$"};
}

inline constexpr TextRule kLabelValue{63};      // also segments, fabric pods and namespaces
inline constexpr TextRule kObjectName{253};     // also hosts
inline constexpr TextRule kQualifiedName{317};  // <DNS name>/<name>: keys of labels, resources
inline constexpr TextRule kUid{128};
inline constexpr TextRule kMessage{4096};

}  // namespace yardmaster::api
