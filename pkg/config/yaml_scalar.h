// What a plain YAML scalar means, and which characters a YAML text may hold: the two facts that
// the reader (yaml.cc) and the writer (yaml_emit.cc) must agree on. Thread safety: pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace yardmaster::config {

// The value of an unquoted scalar, by the rules at the head of yaml.h. Error: it is a number that
// JSON cannot hold.
absl::StatusOr<nlohmann::json> TypedScalar(std::string_view plain);

struct TextPosition {
  int line = 1;
  int column = 1;
};
// The first byte that is not part of printable UTF-8 (tab, line feed, carriage return are treated
// as printable); nullopt if there is none. yaml-cpp would take some of those for the end of its
// input.
std::optional<TextPosition> FindUnprintable(std::string_view text);

// Length in bytes of the valid UTF-8 sequence that `text` begins with; 0 if it begins with none.
int Utf8SequenceLength(std::string_view text);

}  // namespace yardmaster::config
