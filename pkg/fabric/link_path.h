// The links of one path, in order. A path through a core has six, which need no allocation: plans
// of whole jobs hold and copy a hundred thousand of these. Thread safety: a value.
#pragma once

#include "absl/container/inlined_vector.h"

#include "pkg/fabric/network.h"

namespace yardmaster::fabric {

using LinkPath = absl::InlinedVector<LinkId, 6>;

}  // namespace yardmaster::fabric
