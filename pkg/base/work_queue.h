// A keyed work queue with the semantics of client-go's: many producers, many consumers.
//
// Promises:
//   1. A key added while it waits is there once (de-duplicated).
//   2. Two consumers never have the same key; a key added while being worked on comes back after
//      Done(key).
//   3. AddAfter never delivers earlier than its delay; the earliest of several wins.
//   4. After ShutDown, Get drains what is ready and then returns nothing; delayed keys and background
//      work are dropped.
//   5. Background work of a key is delivered when no key is ready, earliest due time first, even before it
//      is due. While keys are always ready, at most one consumer at a time has background work, only work
//      that is due is delivered, and at least three ready keys are delivered between two pieces of it. It is
//      apart from what Add asks for: a key may wait for both, and never has two consumers.
// Invariant: a key in `ready_` is in `dirty_` and not in `processing_`.
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace yardmaster {

class WorkQueue {
 public:
  // `clock` must outlive the queue.
  explicit WorkQueue(const Clock& clock) : clock_(clock) {}

  void Add(const std::string& key);
  void AddAfter(const std::string& key, std::int64_t delay_ms);
  // As AddAfter with a delay that doubles from 50 ms to 30 s each time until Forget(key).
  void AddRateLimited(const std::string& key);
  void Forget(const std::string& key);
  // Background work of `key`, due in `due_in_ms`; the earliest of several wins.
  void AddBackground(const std::string& key, std::int64_t due_in_ms);
  // Blocks until there is a key or the queue is shut down and empty (nullopt). The caller must call
  // Done(key) afterwards. `background`, if not null, is set to whether it is background work.
  std::optional<std::string> Get(bool* background = nullptr);
  void Done(const std::string& key);
  void ShutDown();
  // The number of ready keys plus the number of keys that wait with background work.
  std::size_t Depth() const;

 private:
  void AddLocked(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PromoteDelayedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next background work of a key that has no consumer, if its turn has come.
  std::optional<std::string> TakeBackgroundLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<std::string> ready_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> dirty_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> processing_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> in_background_ ABSL_GUARDED_BY(mutex_);  // of processing_: background work
  std::map<std::string, std::int64_t> delayed_ ABSL_GUARDED_BY(mutex_);  // key -> steady due time
  std::map<std::string, int> failures_ ABSL_GUARDED_BY(mutex_);
  // Background work: steady due time and key, and the time by key.
  std::set<std::pair<std::int64_t, std::string>> background_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::int64_t> background_due_ ABSL_GUARDED_BY(mutex_);
  int since_background_ ABSL_GUARDED_BY(mutex_) = 0;  // deliveries of ready keys
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace yardmaster
