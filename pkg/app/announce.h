// Reports an occurrence in two places: as an event of the object that it regards, and in the log.
// Thread safety: as EventRecorder and Logger, any thread.
#pragma once

#include "pkg/kube/events.h"
#include "pkg/metrics/log.h"
#include "pkg/metrics/registry.h"

namespace yardmaster::app {

// A warning is logged as one; a normal event at info.
void Announce(kube::EventRecord event, kube::EventRecorder& events, const metrics::Logger& log);

// Adds yardmaster_events_dropped_total to the registry. `events` must outlive the last scrape.
void CountDroppedEvents(const kube::EventRecorder& events, metrics::Registry& registry);

}  // namespace yardmaster::app
