// What a Fabric's status says: how many places and hosts its Nodes make, and whether it can be
// planned on. Pure. Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/api/fabric.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

// `used`: this is the Fabric that `snapshot` was made with (one cluster plans on one Fabric).
// Condition Ready is False when the spec does not add up, its Nodes need more ports than it has, or
// another Fabric is used; the message is then the one that planning reported.
api::FabricStatus StatusOf(const api::Fabric& fabric, const plan::Snapshot& snapshot, bool used,
                           std::int64_t now_ms);

}  // namespace yardmaster::op
