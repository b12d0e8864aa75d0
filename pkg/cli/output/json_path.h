// Evaluates the part of kubectl's JSONPath templates that the answers need: text, {.field.field},
// [N], [*], {range ...}{end} and {"text"} with \n and \t.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace yardmaster::cli {

// Missing fields give no text; several values are separated by a space, as in kubectl. Errors:
// InvalidArgument, with the position in the template.
absl::StatusOr<std::string> EvaluateJsonPath(std::string_view path_template,
                                             const nlohmann::json& document);

}  // namespace yardmaster::cli
