// Reports an occurrence twice: as an event of the object that it regards, and in the log.
//
// Thread safety: any thread, as EventRecorder and Logger.
#pragma once

#include <utility>

#include "pkg/kube/events.h"
#include "pkg/metrics/log.h"
#include "pkg/metrics/registry.h"

namespace yardmaster::app {

// Logs a warning event as a warning, and a normal event at info.
void Announce(kube::EventRecord event, kube::EventRecorder& events, const metrics::Logger& log);

// Announces a notice of a loop, which has a warning, a reason and a note.
template <typename Notice>
void Announce(kube::ObjectReference regarding, const Notice& notice, const char* action,
              kube::EventRecorder& events, const metrics::Logger& log) {
  Announce({.regarding = std::move(regarding),
            .type = notice.warning ? kube::EventType::kWarning : kube::EventType::kNormal,
            .reason = notice.reason,
            .action = action,
            .note = notice.note},
           events, log);
}

// Adds yardmaster_events_dropped_total to the registry. `events` must outlive the last scrape.
void CountDroppedEvents(const kube::EventRecorder& events, metrics::Registry& registry);

}  // namespace yardmaster::app
