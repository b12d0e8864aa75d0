#include "pkg/app/announce.h"

namespace yardmaster::app {

void Announce(kube::EventRecord event, kube::EventRecorder& events, const metrics::Logger& log) {
  const auto write =
      event.type == kube::EventType::kWarning ? &metrics::Logger::Warn : &metrics::Logger::Info;
  (log.*write)(event.reason, {{"kind", event.regarding.kind},
                              {"namespace", event.regarding.ns},
                              {"name", event.regarding.name},
                              {"note", event.note}});
  events.Record(std::move(event));
}

void CountDroppedEvents(const kube::EventRecorder& events, metrics::Registry& registry) {
  registry.AddCounterSource("yardmaster_events_dropped_total",
                            "Kubernetes Events that were not written",
                            [&events] { return events.dropped(); });
}

}  // namespace yardmaster::app
