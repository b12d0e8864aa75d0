// Exports the metrics of Observe mode (docs/reference/metrics.md).
//
// Thread safety: that of the registry.
#pragma once

#include "pkg/extender/observe/observer.h"
#include "pkg/metrics/registry.h"

namespace yardmaster::extender {

void ReportObservation(const Observation& observation, metrics::Registry& registry);

}  // namespace yardmaster::extender
