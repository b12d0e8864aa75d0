// Reports to people what was decided about their objects: Kubernetes Events, shown by
// `kubectl describe`.
//
// Record never blocks and never fails: events wait in a bounded queue for a thread of their own;
// when it is full, new ones of the namespace that has most in it are dropped and counted.
// Namespaces take turns, so that one with thousands of events delays no other by more than one.
// event_writer.h says how events are counted up and combined. An event the API server refuses is
// dropped; one it could not take is tried again three times.
//
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <thread>

#include "pkg/base/group_turns.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/client.h"
#include "pkg/kube/event_writer.h"
#include "pkg/kube/timing.h"

namespace yardmaster::kube {

class EventRecorder {
 public:
  // A process has some seconds to end, and events are the least that it has to write.
  static constexpr std::int64_t kLastWritesMs = 3'000;

  // `client` and what `timing` refers to must outlive the recorder. The thread starts at once.
  EventRecorder(Client& client, EventWriterOptions options, Timing timing,
                std::size_t queue_size = 1000);
  // Writes what is queued and all open counts, one try each, for at most kLastWritesMs and the
  // write under way then. The first try that the server does not answer ends it. What is left is
  // dropped.
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void Record(EventRecord event);
  // Blocks until everything recorded so far has been written or dropped (counts aside).
  void Flush();
  // Events that were not written: the queue was full, or they were refused or given up.
  std::int64_t dropped() const;

 private:
  struct Queued {
    EventRecord event;
    std::int64_t wall_ms;
  };

  void Run(std::stop_token stop);
  // Makes room for one event of the namespace. False: it has most of the queue itself.
  bool MakeRoom(const std::string& ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the first event of the queue, or waits up to a second for one. False: there is none.
  bool WriteNext(std::stop_token stop, absl::Status& written);
  absl::Status Write(const Queued& queued, std::stop_token stop);
  void DropQueue();

  const Timing timing_;
  const std::size_t queue_size_;

  // The thread's own.
  EventWriter writer_;
  JitteredBackoff backoff_;

  mutable Mutex mutex_;
  CondVar changed_;
  GroupTurns<std::deque<Queued>> queue_ ABSL_GUARDED_BY(mutex_);  // by namespace
  std::size_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace yardmaster::kube
