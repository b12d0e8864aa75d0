// Base64 of RFC 4648 with padding, as kubeconfig files and Secrets write bytes.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster {

std::string Base64Encode(std::string_view bytes);

// Line breaks, spaces and tabs are skipped, since YAML folds long values.
// InvalidArgument for any other character, missing padding, or padding that is not at the end.
absl::StatusOr<std::string> Base64Decode(std::string_view text);

}  // namespace yardmaster
