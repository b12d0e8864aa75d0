// Decides when the status of a TrainingJob is written. A status is written at once, with two
// exceptions that say little and are soon replaced:
//
//   only the number of running workers changed   at most once in kCountsMs
//   the first status of a job that requests its  when the extender has reported why the job waits,
//   place and knows only that it waits           or kFirstMs after its first reconcile; while the
//                                                extender is reporting on other new jobs,
//                                                kFirstBusyMs after its first reconcile
//
// The extender reports on a few jobs a second. If many jobs arrive at once, a write for each of the
// others would take the API server's time from it.
//
// A delayed status is not lost: the next reconcile computes it from the objects as they are then. A
// delayed status contains nothing that a later step relies on: no incident, no port and no size.
//
// Thread safety: StatusWaitMs is pure; all methods of StatusPace from any thread. Lifetimes: the
// clock outlives the object.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace yardmaster::op {

inline constexpr std::int64_t kCountsMs = 1'000;
inline constexpr std::int64_t kFirstMs = 2'000;
// The extender is busy if it has reported on a new job within the last kFirstMs.
inline constexpr std::int64_t kFirstBusyMs = 60'000;
inline constexpr std::int64_t kBusyAgainMs = 15'000;  // until that is checked again
// Reason of the condition Planned before the first planning result.
inline constexpr char kGatheringReason[] = "Waiting";

// True if the statuses differ only in how many workers run, in numbers and in messages.
bool OnlyCountsDiffer(const api::TrainingJobStatus& a, const api::TrainingJobStatus& b);
// True if `before` is empty and `after` says only that the job waits, without a reason.
bool OnlyBeginsToWait(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after);

struct StatusTimes {
  std::int64_t now_ms = 0;
  std::optional<std::int64_t> written_ms;  // when the former status was written; nullopt: not known
  std::int64_t first_reconcile_ms = 0;     // first reconcile of the job
  // When the extender last reported on a new job; nullopt: not since this process began.
  std::optional<std::int64_t> reported_ms;
};

// Returns how long to wait before `after` is written over `before`; 0: write it now.
std::int64_t StatusWaitMs(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after,
                          const StatusTimes& times);

class StatusPace {
 public:
  explicit StatusPace(const Clock& clock) : clock_(clock) {}

  // Like StatusWaitMs, for the status that the job has. `asks`: the job requests its place before
  // it has pods, and no pod is created before its status is written.
  std::int64_t WaitMs(const api::TrainingJob& job, const api::TrainingJobStatus& after, bool asks);
  // Records that the status of the job was written.
  void Written(const api::TrainingJob& job);
  // Forgets the job of that key ("namespace/name"), which is gone.
  void Forget(const std::string& key);

 private:
  struct FirstReconcile {
    std::string uid;
    std::int64_t time_ms = 0;  // steady clock, as all times here
  };

  const Clock& clock_;
  Mutex mutex_;
  // By the job's uid; entries older than kCountsMs are dropped.
  std::map<std::string, std::int64_t> written_ms_ ABSL_GUARDED_BY(mutex_);
  // The first reconcile of jobs whose first status is delayed, by key.
  std::map<std::string, FirstReconcile> first_reconciles_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::int64_t> reported_ms_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
