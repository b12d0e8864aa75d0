// Counts the changes after which gated pods wait for a network plan: a Gang gets its places or
// other places, or a pod is created for a Gang that has places. After such a change the network
// loop plans soon, even if other objects keep changing. If the gang was released before, the loop
// plans at once, because the gang makes no progress until the rank is back.
//
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/api/pod.h"
#include "pkg/base/mutex.h"

namespace yardmaster::op {

class PlanWaiters {
 public:
  // Returns the Gang "namespace/name"; null if none exists.
  using FindGang = std::function<std::shared_ptr<const api::Gang>(const std::string& key)>;

  // Records the newest state of a Gang; null: it is gone. O(log Gangs).
  void NoteGang(const std::string& key, const api::Gang* gang);
  void NotePod(const api::Pod& pod, const FindGang& find_gang);

  struct Counts {
    std::uint64_t all = 0;
    std::uint64_t blocked_released_gangs = 0;  // of these, for gangs that were released before
    bool operator==(const Counts&) const = default;
  };
  Counts counts() const;

 private:
  void Count(const api::Gang& gang) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, std::int64_t> plan_generations_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
