// Paces the attempts to create pods in a namespace where a quota or an admission policy refused
// pods of a job. An attempt creates all pods of a job; if one is refused, those created are removed
// again.
//
// Delays of one job:
//   - It tries a second after its first refusal and doubles the delay with each further one, up to
//     a minute. The delay is at least kPodMs for each of its pods, which bounds the cost of
//     attempts.
//   - A job that was edited may try at once.
//
// Limits of a namespace:
//   - All its refused jobs together, except the first in order and those that run, try twice a
//     second, and less often by kPodMs for each pod of an attempt. So thousands of refused jobs
//     cost the API server and other namespaces no more than a few.
//   - A quota still counts removed pods for a moment. For kRecountMs after a removal no refused job
//     of the namespace begins an attempt, edited or not, and the job that removed its pods waits
//     twice as long. So it does not spoil the attempt of another job and does not go before it
//     repeatedly.
//   - One job tries at a time, so that two jobs do not split a quota that has room for one. Among
//     the jobs that are due it is the first by priority, then by age, then by name. Jobs that were
//     never refused are in the same order. If the job that tries is neither refused nor done within
//     kTryMs of its last turn, others may try.
//
// Free quota is used at once: when pods of the namespace end, or a refused job has all its pods,
// the first job in order and the job that was refused longest ago become due, and their delays
// start again. This happens once in kWakeEveryMs; quota that is freed sooner is used after that
// time. Pods that a refused job removes do not count as freed, because two jobs would then retry in
// turn without end.
//
// Complexity: O(refused jobs of the namespace) per call. Thread safety: all methods from any
// thread. Lifetimes: the clock outlives the object.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace yardmaster::op {

struct JobInLine {
  std::string key;  // "namespace/name"
  std::int64_t generation = 0;
  std::int64_t priority = 0;
  std::int64_t created_ms = 0;
  std::int64_t pods = 1;  // that do not exist: what an attempt may create and remove
  bool runs = false;      // some of its pods run
};

struct JobsToTry {
  std::vector<std::string> keys;
  std::int64_t in_ms = 0;
};

class RefusalPacer {
 public:
  static constexpr std::int64_t kTryMs = 10'000;
  static constexpr std::int64_t kPodMs = 20;  // time to create a pod and to remove it
  static constexpr std::int64_t kRecountMs = 1'000;
  static constexpr std::int64_t kWakeEveryMs = 100;

  explicit RefusalPacer(const Clock& clock) : clock_(clock) {}

  // Records that pods of the job were refused. Returns the time until it may try again.
  std::int64_t Refused(const JobInLine& job);
  // Returns how long the job has to wait before it creates pods. 0: it may now, and if others were
  // refused it is the job that tries. `begins`: the job creates pods in this turn even if it was
  // never refused.
  std::int64_t WaitMs(const JobInLine& job, bool begins);
  // Records that pods of a job that waits for its next attempt were removed.
  void TookBack(const std::string& key);
  // Ends the attempt of a job that now waits for hosts: others may try.
  void Pause(const std::string& key);
  // Forgets a job whose pods all exist, or that is gone. Returns whether it had been refused.
  bool Forget(const std::string& key);
  // Returns the jobs to try, and when, because quota may have been freed. `freed_by`: the job whose
  // pods ended; empty: another owner's pods.
  JobsToTry TakeNext(std::string_view namespace_name, const std::string& freed_by);

 private:
  using Order = std::tuple<std::int64_t, std::int64_t, std::string>;
  struct Job {
    Order order;
    std::int64_t generation = 0;
    std::int64_t cost_ms = 0;     // of an attempt, charged to the namespace
    std::int64_t delay_ms = 0;    // its last own delay
    std::int64_t refused_ms = 0;  // steady clock, as all times here
    std::int64_t not_before_ms = 0;
    std::int64_t due_ms = 0;
  };
  struct Namespace {
    std::int64_t next_try_ms = 0;
    std::int64_t quiet_until_ms = 0;  // no refused job begins an attempt before
    std::int64_t woken_ms = -1;       // when the jobs that TakeNext returned last are due
    std::string trying;               // the job that tries; empty: none
    std::int64_t trying_until_ms = 0;
    std::map<std::string, Job> jobs;
    std::set<std::pair<std::int64_t, std::string>>
        waiting;  // refused_ms and key, without jobs that TakeNext returned
  };

  static Order OrderOf(const JobInLine& job) { return {-job.priority, job.created_ms, job.key}; }

  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Namespace, std::less<>> namespaces_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
