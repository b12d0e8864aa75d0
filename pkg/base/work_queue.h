// A keyed work queue with the semantics of client-go's: many producers, many consumers.
//
// Promises:
//   1. A key added while it waits is there once (de-duplicated).
//   2. Two consumers never have the same key; a key added while being worked on comes back after
//      Done(key).
//   3. AddAfter never delivers earlier than its delay; the earliest of several wins.
//   4. After ShutDown, Get drains what is ready and then returns nothing; delayed keys are dropped.
// Invariant: a key in `ready_` is in `dirty_` and not in `processing_`.
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

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
  // Blocks until a key is ready or the queue is shut down and empty (nullopt). The caller must call
  // Done(key) afterwards.
  std::optional<std::string> Get();
  void Done(const std::string& key);
  void ShutDown();
  std::size_t Depth() const;

 private:
  void AddLocked(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PromoteDelayedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<std::string> ready_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> dirty_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> processing_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::int64_t> delayed_ ABSL_GUARDED_BY(mutex_);  // key -> steady due time
  std::map<std::string, int> failures_ ABSL_GUARDED_BY(mutex_);
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace yardmaster
