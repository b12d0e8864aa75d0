// JSON text to a value, at the speed of nlohmann's own parser and with two of the refusals of
// yaml.h: a key given twice in one object, and nesting deeper than a limit. Deep values overflow
// the stack of the code that copies or prints them. For large files; yaml.h reads JSON too, and
// copies more. Thread safety: pure function.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace yardmaster::config {

inline constexpr int kMaxJsonDepth = 100;

// The value; nullopt if the text is not JSON (yaml.h says where and why). Errors: InvalidArgument
// for the refusals, with `name` and the path of the field.
absl::StatusOr<std::optional<nlohmann::json>> ParseJsonText(std::string_view text,
                                                            std::string_view name,
                                                            int max_depth = kMaxJsonDepth);

}  // namespace yardmaster::config
