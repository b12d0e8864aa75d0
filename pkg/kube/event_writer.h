// What an event is, and how events become objects of the API: events.k8s.io/v1, identical ones
// counting up as a `series`, many similar ones combined. EventRecorder (events.h) runs this on a
// thread; this class has no thread. Write, WriteDue and WriteOpen block for the client's calls.
//
//   - The same event again (object, type, reason, action, note) within six minutes counts up the
//     `series` of the first one instead of making another; the count is written at most every
//     `series_period_ms`.
//   - After `max_similar` events that differ only in their note within ten minutes, further ones
//     become one event, "(combined from similar events) ...", that counts up.
// Notes are cut to 1,024 bytes (at a character), reasons, actions and the instance to 128: the
// API's limits.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/base/clock.h"
#include "pkg/kube/client.h"

namespace yardmaster::kube {

struct ObjectReference {
  std::string api_version = {};
  std::string kind = {};
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
};

enum class EventType { kNormal, kWarning };

struct EventRecord {
  ObjectReference regarding;
  EventType type = EventType::kNormal;
  // CamelCase, few different ones: "Planned", "HostUnhealthy".
  std::string reason = {};
  // What was done or tried: "Placing", "Rerouting".
  std::string action = {};
  // A sentence for a person.
  std::string note = {};
};

struct EventWriterOptions {
  // "yardmaster.dev/extender"
  std::string controller = {};
  // The pod's name.
  std::string instance = {};
  std::int64_t series_period_ms = 30'000;
  int max_similar = 10;
};

class EventWriter {
 public:
  // `client` and `clock` must outlive the writer. Writers with different seeds give their events
  // different names.
  EventWriter(Client& client, EventWriterOptions options, const Clock& clock, std::uint64_t seed)
      : client_(client), options_(std::move(options)), clock_(clock), seed_(seed) {}

  // Writes the event, or counts it to its series. A status that is not OK: the write failed, or its
  // answer was lost; the event is forgotten unless Write is called again with it and the same time.
  // That writes no second object: the name follows from the event, the time and the seed.
  absl::Status Write(const EventRecord& event, std::int64_t wall_ms);
  // Writes the counts that are due and forgets series that have been idle for six minutes. Returns
  // the last error. A count that could not be written is tried again the next time, unless its
  // series was idle.
  absl::Status WriteDue();
  // Writes every count that has changed, until the server does not answer or the steady time is
  // `deadline_ms`.
  void WriteOpen(std::int64_t deadline_ms);
  std::int64_t writes() const { return writes_; }

 private:
  struct Series {
    EventRecord event;
    std::string name;
    int count = 1;
    int written_count = 1;
    std::int64_t observed_wall_ms = 0;
    std::int64_t active_ms = 0;   // steady time of the last occurrence
    std::int64_t written_ms = 0;  // steady time of the last write
  };
  struct Similar {
    std::set<std::string> notes;
    std::int64_t since_ms = 0;
  };

  EventRecord Shaped(EventRecord event);
  std::string NameFor(const EventRecord& event, std::int64_t wall_ms) const;
  absl::Status Create(Series& series);
  absl::Status WriteCount(Series& series);

  Client& client_;
  const EventWriterOptions options_;
  const Clock& clock_;
  const std::uint64_t seed_;
  std::int64_t writes_ = 0;
  std::map<std::string, Series> series_;    // by everything that makes events the same
  std::map<std::string, Similar> similar_;  // by everything but the note
};

}  // namespace yardmaster::kube
