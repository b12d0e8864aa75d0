// A keyed work queue with the semantics of client-go's, shared fairly by groups of keys: many
// producers, many consumers.
//
// The group of a key is what stands before its first '/', of "namespace/name" the namespace; keys
// without one are a group.
//
// Promises:
//   1. A key added while it waits is there once (de-duplicated).
//   2. Two consumers never have the same key; a key added while being worked on comes back after
//      Done(key).
//   3. AddAfter never delivers earlier than its delay; the earliest of several wins.
//   4. After ShutDown, Get drains what is ready and then returns nothing; delayed keys and
//      background work are dropped.
//   5. Groups take turns: between two ready keys of one group, each other group that has ready keys
//      gets one. Keys of one group are delivered in the order in which they became ready, those
//      of AddFirst before the others.
//   6. Background work is delivered when no key is ready, even before it is due. Groups take turns
//      at it, too, and within one the earliest due time goes first. While keys are always ready, at
//      most one consumer at a time has background work, only work that is due is delivered, and at
//      least three ready keys are delivered between two pieces of it. It is apart from what Add
//      asks for: a key may wait for both, and never has two consumers.
// Complexity: Get is O(groups + log keys), and passes over background work of keys that have a
// consumer. Invariant: a ready key is in `dirty_` and not in `processing_`.
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "pkg/base/clock.h"
#include "pkg/base/group_turns.h"
#include "pkg/base/mutex.h"

namespace yardmaster {

class WorkQueue {
 public:
  // `clock` must outlive the queue.
  explicit WorkQueue(const Clock& clock) : clock_(clock) {}

  void Add(const std::string& key);
  // As Add, before the keys of its group that wait already, but for those of AddFirst.
  void AddFirst(const std::string& key);
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
  // Steady due time and key.
  using DueKeys = std::set<std::pair<std::int64_t, std::string>>;
  struct ReadyKeys {
    std::deque<std::string> first, others;
    std::size_t size() const { return first.size() + others.size(); }
    bool empty() const { return size() == 0; }
  };

  static std::string_view GroupOf(std::string_view key) {
    const std::size_t slash = key.find('/');
    return slash == key.npos ? std::string_view() : key.substr(0, slash);
  }

  void AddLocked(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PushReadyLocked(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PromoteDelayedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string TakeReadyLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A consumer has it: it comes back after Done, in its order.
  void PostponeReadyLocked(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next background work of a key that has no consumer, if its turn has come.
  std::optional<std::string> TakeBackgroundLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  GroupTurns<ReadyKeys> ready_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> dirty_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> first_ ABSL_GUARDED_BY(mutex_);  // of dirty_ and processing_: by AddFirst
  std::set<std::string> processing_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> in_background_ ABSL_GUARDED_BY(mutex_);  // of processing_: background work
  DueKeys delayed_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::int64_t> delayed_due_
      ABSL_GUARDED_BY(mutex_);  // the times of delayed_
  std::map<std::string, int> failures_ ABSL_GUARDED_BY(mutex_);
  GroupTurns<DueKeys> background_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::int64_t> background_due_ ABSL_GUARDED_BY(mutex_);  // its times
  int since_background_ ABSL_GUARDED_BY(mutex_) = 0;  // deliveries of ready keys
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace yardmaster
