// Exports the rented capacity as metrics of the operator. docs/reference/metrics.md says what each
// means.
//
// Thread safety: one thread. Lifetimes: `capacity` outlives the registry's sources.
#pragma once

#include "pkg/metrics/registry.h"
#include "pkg/operator/capacity/capacity_controller.h"

namespace yardmaster::op {

void AddCapacityMetrics(const CapacityController& capacity, metrics::Registry& registry);

}  // namespace yardmaster::op
