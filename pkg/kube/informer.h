// Keeps an ObjectSink equal to one collection of the API server, by list and watch on a thread of
// its own. It holds no objects itself.
//
// Promises:
//   1. The sink is filled in the order of the server's history: one list, then every change after
//      it.
//   2. No change is lost: a watch resumes from the last version delivered (bookmarks included).
//      When the server no longer has that version (410), or five watches in a row brought nothing
//      but errors, the collection is listed again.
//   3. Memory is flat while a list is read: the text of one page and one parsed object of it
//      (client.h), or one object of a streamed list, at a time.
//   4. Errors never end it. It tries again with backoff (0.8 s to 30 s, jitter), or after the delay
//      that the server asks for; an event begins the backoff again. Lists that follow each other
//      because the server forgets versions within seconds back off in the same way; half a minute
//      after a list the next one is read at once.
//   5. What the sink throws for one object is a failure that names the object, and ends nothing.
//
// Lists are streamed (WatchList) where `stream_lists` is set and the server can. A server that
// refuses, or has not ended the list after 20 s, is asked for pages from then on; after a streamed
// list that failed otherwise, the next list is read in pages. A streamed list goes on as a watch
// until those 20 s are over.
// Other watches ask the server to end them after 5 to 10 minutes, at random.
// Thread safety: all methods from any thread, but Start and Stop not from the sink or a handler.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "pkg/base/mutex.h"
#include "pkg/base/random.h"
#include "pkg/kube/client.h"
#include "pkg/kube/object_sink.h"
#include "pkg/kube/timing.h"

namespace yardmaster::kube {

struct InformerOptions {
  std::string ns = {};  // empty: all
  std::string label_selector = {};
  std::string field_selector = {};
  int page_size = 500;
  bool stream_lists = false;
  int min_watch_seconds = 300;
  int max_watch_seconds = 600;
};

// Called on the informer's thread. Either may be empty.
struct InformerHandlers {
  // Once, after the first complete list.
  std::function<void()> synced = {};
  // Every failed list or watch, for logs.
  std::function<void(const absl::Status&)> failed = {};
};

struct InformerStats {
  std::int64_t lists = 0;           // complete ones
  std::int64_t streamed_lists = 0;  // of them
  std::int64_t watches = 0;
  std::int64_t events = 0;  // bookmarks included, objects of streamed lists not
  std::int64_t failures = 0;
};

class Informer {
 public:
  // `client`, `sink` and what `timing` refers to must outlive the informer.
  Informer(Client& client, Resource resource, InformerOptions options, ObjectSink& sink,
           InformerHandlers handlers, Timing timing);
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  void Start();
  // Returns after the last call of the sink.
  void Stop();

  // OK once the first list is complete. DeadlineExceeded with the last error after `timeout_ms`,
  // Cancelled after Stop or `stop`.
  absl::Status WaitForSync(std::int64_t timeout_ms, const std::stop_token& stop = {});
  bool HasSynced() const;
  // Steady time of the last answer that the server gave as it should (page, event or bookmark); -1
  // before the first.
  std::int64_t LastContactMs() const;

  InformerStats stats() const;
  const Resource& resource() const { return target_.resource; }

 private:
  void Run(std::stop_token stop);
  absl::Status ReadList(std::stop_token stop);
  absl::Status ReadPages(std::stop_token stop);
  absl::Status StreamList(std::stop_token stop);
  void WatchUntilListIsNeeded(std::stop_token stop);
  absl::Status Watch(WatchOptions options, std::stop_token stop,
                     const std::function<void(const WatchEvent&)>& on_event);
  void EndList(const std::string& version, bool streamed);
  void HandleEvent(const WatchEvent& event);
  // Calls the sink for one object.
  void Deliver(JsonView object, absl::FunctionRef<void()> call);
  void Contact(const std::string& version);
  void Fail(const absl::Status& status);
  int WatchSeconds();

  Client& client_;
  const Target target_;
  const InformerOptions options_;
  ObjectSink& sink_;
  const InformerHandlers handlers_;
  const Timing timing_;

  // Used by the informer's thread only.
  Random random_;
  JitteredBackoff backoff_;
  JitteredBackoff relist_backoff_;  // after a version that was too old
  std::int64_t listed_ms_ = 0;      // steady time at which the last list was complete
  std::string version_;
  bool can_stream_;
  bool stream_next_ = true;

  mutable Mutex mutex_;
  CondVar changed_;
  InformerStats stats_ ABSL_GUARDED_BY(mutex_);
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  std::int64_t last_contact_ms_ ABSL_GUARDED_BY(mutex_) = -1;
  bool synced_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace yardmaster::kube
