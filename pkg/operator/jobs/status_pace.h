// When the status of a TrainingJob is written: at once, but for two kinds of status that say little
// and are followed by another one soon.
//
//   how many workers run has changed, and nothing else   once in kCountsMs
//   the first status of a job that waits for its place   when the ledger has said why it waits, or
//   and knows nothing but that                           kFirstMs after the first look at it; while
//                                                        the ledger tells one new job after the
//                                                        other, kFirstAtWorkMs after it
//
// Of many jobs that come at once the ledger tells some a second. A write for each of the others
// that says nothing would take the API server's time from it.
//
// A status that waits is not lost: the next look makes it of the objects as they are then. Nothing
// that a later step relies on is in one that waits: it records no incident, no port and no size.
//
// Thread safety: StatusWaitMs is pure; StatusPace's methods may be called from any thread.
// Lifetimes: the clock outlives it.
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
// It is at work as long as it has told some new job why it waits within kFirstMs.
inline constexpr std::int64_t kFirstAtWorkMs = 60'000;
inline constexpr std::int64_t kAtWorkAgainMs = 15'000;  // until it is looked whether it still is
// Reason of the condition Planned while no plan was tried yet.
inline constexpr char kGatheringReason[] = "Waiting";

// Whether the statuses differ in nothing but how many workers run, in numbers and in messages.
bool OnlyCountsDiffer(const api::TrainingJobStatus& a, const api::TrainingJobStatus& b);
// Whether `after` says of a job without a status that it waits, and not why.
bool OnlyBeginsToWait(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after);

struct StatusTimes {
  std::int64_t now_ms = 0;
  std::optional<std::int64_t> written_ms;  // of the status before; nullopt: not known
  std::int64_t first_look_ms = 0;          // at the job
  // When the ledger told a new job last why it waits; nullopt: not since this process began.
  std::optional<std::int64_t> told_ms;
};

// How long `after` may still wait to be written over `before`; 0: not at all.
std::int64_t StatusWaitMs(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after,
                          const StatusTimes& times);

class StatusPace {
 public:
  explicit StatusPace(const Clock& clock) : clock_(clock) {}

  // As StatusWaitMs, for the status that the job has. `asks`: the job asks for its place before it
  // has pods, and no pod is made before its status is written.
  std::int64_t WaitMs(const api::TrainingJob& job, const api::TrainingJobStatus& after, bool asks);
  void Written(const api::TrainingJob& job);
  // There is no job of that key ("namespace/name").
  void Forget(const std::string& key);

 private:
  struct Look {
    std::string uid;
    std::int64_t time_ms = 0;  // steady, as all times here
  };

  const Clock& clock_;
  Mutex mutex_;
  // By the job's uid; entries older than kCountsMs are dropped.
  std::map<std::string, std::int64_t> written_ms_ ABSL_GUARDED_BY(mutex_);
  // The first look at jobs whose first status waits, by key.
  std::map<std::string, Look> first_looks_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::int64_t> told_ms_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
