// When to try again the jobs whose pods a quota or an admission policy refuses.
//
// A job is tried a second after its first refusal, and after each further one in twice that time,
// up to a minute. All refused jobs of a namespace together are tried twice a second, so that
// thousands of them cost the API server and other namespaces no more than a few. Room that comes is
// used at once: whenever pods of the namespace are made or end, the two jobs that were refused
// longest ago are due. An edited job is tried at once.
//
// Complexity: O(log jobs) a call. Thread safety: all methods from any thread. Lifetimes: the clock
// outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace yardmaster::op {

// Keys are "namespace/name".
class RefusalPacer {
 public:
  explicit RefusalPacer(const Clock& clock) : clock_(clock) {}

  // The job of that generation was refused. The value: when to try it again.
  std::int64_t Refused(const std::string& key, std::int64_t generation);
  // How long the job has to wait; 0: it may be tried.
  std::int64_t WaitMs(const std::string& key, std::int64_t generation) const;
  // Its pods were made, or it is gone. Whether it had been refused.
  bool Forget(const std::string& key);
  // Room may have come in the namespace: the jobs to try now.
  std::vector<std::string> TakeNext(std::string_view namespace_name);

 private:
  struct Job {
    std::int64_t generation = 0;
    std::int64_t delay_ms = 0;    // the last one, of its own
    std::int64_t refused_ms = 0;  // steady, as all times here
    std::int64_t due_ms = 0;
  };
  struct Namespace {
    std::int64_t next_try_ms = 0;
    std::int64_t woken_ms = -1;  // when TakeNext has returned something
    std::map<std::string, Job> jobs;
    std::set<std::pair<std::int64_t, std::string>>
        waiting;  // refused_ms and key; not those that are due
  };

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::string, Namespace, std::less<>> namespaces_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
