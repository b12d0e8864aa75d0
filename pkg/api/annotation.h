// What our JSON annotations have in common: a version. A reader refuses a version that it does not
// know. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "pkg/api/field_reader.h"

namespace yardmaster::api {

// Our share of a pod's 256 KiB of annotations; a longer one is refused.
inline constexpr std::size_t kMaxAnnotationBytes = 64 * 1024;

// The object in `text`. Errors: InvalidArgument if it is not a JSON object, is too long or has
// another version.
absl::StatusOr<nlohmann::json> ParseAnnotation(std::string_view text, int version);
// As a view into `parser`.
absl::StatusOr<JsonView> ParseAnnotation(JsonParser& parser, std::string_view text, int version);

}  // namespace yardmaster::api
