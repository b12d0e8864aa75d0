// The IP traffic class of a network level. Thread safety: pure functions.
#pragma once

#include "absl/status/statusor.h"

#include "pkg/fabric/spec.h"

namespace yardmaster::fabric {

// The traffic class byte of `level`: the fabric's table, or 32 * level when the table does not name
// it. Errors: InvalidArgument when the fabric has no such level or the class does not fit into a
// byte.
absl::StatusOr<int> TrafficClassOf(const NetworkLevels& levels, int level);

}  // namespace yardmaster::fabric
