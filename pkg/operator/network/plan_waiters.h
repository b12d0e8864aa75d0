// Counts the changes after which pods behind the gate wait for a network plan: a Gang gets places
// or other places, and a pod is made for a Gang that has places. After such a change the network
// loop plans soon, although other objects go on changing. It plans at once where the gang was
// released before: the gang stands still until it has the rank again.
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
  // The Gang of that "namespace/name"; null: there is none.
  using FindGang = std::function<std::shared_ptr<const api::Gang>(const std::string& key)>;

  // The newest state of a Gang; null: it is gone. O(log Gangs).
  void NoteGang(const std::string& key, const api::Gang* gang);
  void NotePod(const api::Pod& pod, const FindGang& find_gang);

  struct Counts {
    std::uint64_t all = 0;
    std::uint64_t blocked_released_gangs = 0;  // of these, of gangs that were released before
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
