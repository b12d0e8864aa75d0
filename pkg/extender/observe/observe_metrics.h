// What Observe mode exports (docs/reference/metrics.md). Thread safety: as the registry's.
#pragma once

#include "pkg/extender/observe/observer.h"
#include "pkg/metrics/registry.h"

namespace yardmaster::extender {

void ReportObservation(const Observation& observation, metrics::Registry& registry);

}  // namespace yardmaster::extender
