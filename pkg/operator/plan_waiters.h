// Counts news after which pods behind the gate wait for the plan of the network: a Gang that got places, or other ones, and a pod
// made for a Gang that has places. The network loop looks at them soon although other objects go on changing.
//
// Thread safety: any thread.
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

  std::uint64_t count() const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::int64_t> plan_generations_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace yardmaster::op
