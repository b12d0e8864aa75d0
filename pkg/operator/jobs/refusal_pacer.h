// When jobs make pods in a namespace where a quota or an admission policy has refused pods of some
// job.
//
// A job is tried a second after its first refusal, and after each further one in twice that time,
// up to a minute, and never before kPodMs for each of its pods are over, which bounds the cost of
// jobs that are made in part and taken back. An edited job is tried at once. All refused jobs of a
// namespace together, but for the first in order and those that run, are tried twice a second, and
// after each try not before kPodMs for each of its pods are over, so that thousands of them cost
// the API server and other namespaces no more than a few.
//
// A quota counts pods that were taken back a moment later. For kRecountMs after that no refused job
// of the namespace begins a try, edited or not, and the one that took them back waits twice as
// long: it neither spoils the try of another one nor comes before it again and again.
//
// One job tries at a time, so that no two take a quota apart that holds one of them. Of those that
// are due it is the first in order: by priority, then the older one, then by name. A job that was
// never refused is in the same order. One that begins and is neither refused nor done within kTryMs
// of its last turn lets others try.
//
// Room that comes is used at once: when pods of the namespace end, or a refused job has been made,
// the first in order and the job that was refused longest ago are due, and their delays start
// again. This happens once in kWakeEveryMs: room that comes sooner is used when they are over. Pods
// that a refused job takes back are no room: others would be refused for its next try, in turn and
// without end.
//
// Complexity: O(refused jobs of the namespace) a call. Thread safety: all methods from any thread.
// Lifetimes: the clock outlives it.
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
  std::int64_t pods = 1;  // that it has not: what a try may make and take back
  bool runs = false;      // some of its pods do
};

struct JobsToTry {
  std::vector<std::string> keys;
  std::int64_t in_ms = 0;
};

class RefusalPacer {
 public:
  static constexpr std::int64_t kTryMs = 10'000;
  static constexpr std::int64_t kPodMs = 20;  // to make a pod and to take it back
  static constexpr std::int64_t kRecountMs = 1'000;
  static constexpr std::int64_t kWakeEveryMs = 100;

  explicit RefusalPacer(const Clock& clock) : clock_(clock) {}

  // The job's pods were refused. The value: when to try it again.
  std::int64_t Refused(const JobInLine& job);
  // How long the job has to wait before it makes pods. 0: it may now, and where others were refused
  // it is the one that tries. `begins`: this is a turn in which it makes pods even if it was never
  // refused.
  std::int64_t WaitMs(const JobInLine& job, bool begins);
  // Pods of the job, which waits for its try, were taken back.
  void TookBack(const std::string& key);
  // It waits for hosts before it makes pods: others may try.
  void Pause(const std::string& key);
  // Its pods were made, or it is gone. Whether it had been refused.
  bool Forget(const std::string& key);
  // Room may have come in the namespace: the jobs to try, and when. `freed_by`: the job whose pods
  // ended; empty: another owner's.
  JobsToTry TakeNext(std::string_view namespace_name, const std::string& freed_by);

 private:
  using Order = std::tuple<std::int64_t, std::int64_t, std::string>;
  struct Job {
    Order order;
    std::int64_t generation = 0;
    std::int64_t cost_ms = 0;     // of a try, to the namespace
    std::int64_t delay_ms = 0;    // the last one, of its own
    std::int64_t refused_ms = 0;  // steady, as all times here
    std::int64_t not_before_ms = 0;
    std::int64_t due_ms = 0;
  };
  struct Namespace {
    std::int64_t next_try_ms = 0;
    std::int64_t quiet_until_ms = 0;  // no refused job begins a try
    std::int64_t woken_ms = -1;       // when what TakeNext returned last is due
    std::string trying;               // the job that tries; empty: none
    std::int64_t trying_until_ms = 0;
    std::map<std::string, Job> jobs;
    std::set<std::pair<std::int64_t, std::string>>
        waiting;  // refused_ms and key; not those that TakeNext returned
  };

  static Order OrderOf(const JobInLine& job) { return {-job.priority, job.created_ms, job.key}; }

  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Namespace, std::less<>> namespaces_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
