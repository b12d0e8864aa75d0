// A local copy of one collection, kept up to date by list and watch on a thread of its own.
//
// Promises:
//   1. The copy only moves forward along the server's history; between two handler calls it changes
//      by exactly what the second one reports, and it has changed before the handler is called.
//   2. Nothing is lost: a watch resumes from the last version seen (bookmarks included); when the
//      server no longer has that (410), or five watches in a row brought nothing but errors, the
//      collection is listed anew and the difference is reported, deletions included.
//   3. An object deleted and created again under its name, however fast, is reported as deleted and
//      added, never as updated.
//   4. Errors never end it; it tries again with backoff (0.8 s to 30 s, jitter), or after as long
//      as the server asks for.
// Handlers run on the informer's thread, one at a time; they should enqueue and return.
//
// Watches ask the server to end them after 5 to 10 minutes, at random.
// Thread safety: all methods from any thread, but Start and Stop not from a handler.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"

#include "pkg/base/random.h"
#include "pkg/kube/client.h"
#include "pkg/kube/timing.h"

namespace yardmaster::kube {

struct InformerOptions {
  std::string ns = {};  // empty: all
  std::string label_selector = {};
  std::string field_selector = {};
  int page_size = 500;
  int min_watch_seconds = 300;
  int max_watch_seconds = 600;
};

// Any of them may be empty.
struct InformerHandlers {
  std::function<void(const ObjectPtr&)> added = {};
  std::function<void(const ObjectPtr& before, const ObjectPtr& after)> updated = {};
  // With the last state known, which after a gap is not the object's last state.
  std::function<void(const ObjectPtr&)> deleted = {};
  // Once, after everything of the first list has been reported.
  std::function<void()> synced = {};
  // Every failed list or watch, for logs.
  std::function<void(const absl::Status&)> failed = {};
};

struct InformerStats {
  std::int64_t lists = 0;  // successful ones
  std::int64_t watches = 0;
  std::int64_t events = 0;  // bookmarks included
  std::int64_t failures = 0;
};

class Informer {
 public:
  // `client` and what `timing` refers to must outlive the informer.
  Informer(Client& client, Resource resource, InformerOptions options, InformerHandlers handlers,
           Timing timing);
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  void Start();
  // Returns after the last handler call. The copy stays readable.
  void Stop();

  // OK once the first list is complete and reported. DeadlineExceeded with the last error after
  // `timeout_ms`, Cancelled after Stop.
  absl::Status WaitForSync(std::int64_t timeout_ms);
  bool HasSynced() const;
  // Steady time of the last good word from the server (list, event or bookmark); -1: none yet.
  std::int64_t LastContactMs() const;

  // Null if there is no such object. Key: see KeyOf in object.h.
  ObjectPtr Get(const std::string& key) const;
  // Sorted by key.
  std::vector<ObjectPtr> All() const;
  std::size_t size() const;
  InformerStats stats() const;
  const Resource& resource() const { return target_.resource; }

 private:
  void Run(std::stop_token stop);
  absl::Status ListOnce(std::stop_token stop);
  void WatchUntilListIsNeeded(std::stop_token stop);
  void TakeList(const ListPage& list);
  void TakeEvent(const WatchEvent& event);
  void Put(const ObjectPtr& object);
  void Remove(const std::string& key, const ObjectPtr& last);
  void Contact(const std::string& version);
  void Fail(const absl::Status& status);
  int WatchSeconds();

  Client& client_;
  const Target target_;
  const InformerOptions options_;
  const InformerHandlers handlers_;
  const Timing timing_;

  // Used by the informer's thread only.
  Random random_;
  Backoff backoff_;
  std::string version_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, ObjectPtr> objects_;
  InformerStats stats_;
  absl::Status last_error_;
  std::int64_t last_contact_ms_ = -1;
  bool synced_ = false;
  bool stopped_ = false;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace yardmaster::kube
