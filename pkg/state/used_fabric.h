// The Fabric that the cluster plans on. Complexity: linear in the Fabrics. Thread safety: pure
// functions.
#pragma once

#include <memory>

#include "pkg/api/fabric.h"
#include "pkg/api/fabric_order.h"
#include "pkg/state/object_table.h"

namespace yardmaster::state {

// Null: there is none.
inline std::shared_ptr<const api::Fabric> UsedFabric(const ObjectTable<api::Fabric>& fabrics) {
  std::shared_ptr<const api::Fabric> used;
  for (const auto& fabric : fabrics) {
    if (used == nullptr || api::IsUsedBefore(fabric->metadata, used->metadata)) used = fabric;
  }
  return used;
}

}  // namespace yardmaster::state
