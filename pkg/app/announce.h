// Reports an occurrence in two places: as an event of the object that it regards, and in the log.
// Thread safety: as EventRecorder and Logger, any thread.
#pragma once

#include "pkg/kube/events.h"
#include "pkg/metrics/log.h"

namespace yardmaster::app {

// A warning is logged as one; a normal event at info.
void Announce(kube::EventRecord event, kube::EventRecorder& events, const metrics::Logger& log);

}  // namespace yardmaster::app
