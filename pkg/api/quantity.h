// Kubernetes quantities ("8", "500m", "64Gi", "1e3") as whole numbers of 1/scale, rounded up as
// Kubernetes rounds a fraction of a device. What exceeds 2^53 is read as 2^53. Thread safety: pure
// functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/api/field_reader.h"

namespace yardmaster::api {

// Errors: InvalidArgument if it is not a quantity, is negative or exceeds 2^63, the largest
// quantity of Kubernetes.
absl::StatusOr<std::int64_t> ParseQuantity(std::string_view text, int scale = 1);

// A field that holds a quantity as a string or as a JSON number; 0 when left out or wrong.
std::int64_t ReadQuantity(FieldReader& object, std::string_view key, int scale = 1);
// The same of a value that was found already. REQUIRES: present.
std::int64_t ReadQuantity(const FieldReader& object, std::string_view key, JsonView value,
                          int scale);

}  // namespace yardmaster::api
