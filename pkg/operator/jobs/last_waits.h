// When the agents of a stalled job's workers last reported that these wait, by the clocks of their
// hosts, so that a later report of progress from the same host is recognized as later whatever its
// clock says. A new leader knows none and compares with the operator's clock (no_progress.h).
//
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pkg/base/mutex.h"
#include "pkg/operator/jobs/job_observation.h"

namespace yardmaster::op {

class LastWaits {
 public:
  // The job is stalled now. `key`: "namespace/name".
  void Note(const std::string& key, const JobObservation& job) {
    MutexLock lock(mutex_);
    Times& times = jobs_[key];
    for (const Worker& worker : job.workers) {
      if (!worker.progress || worker.progress->state != api::ProgressState::kWaiting) continue;
      times[worker.uid] = worker.progress->time_ms;
    }
  }
  // A worker that waited makes progress now.
  bool HasGoneOn(const std::string& key, const JobObservation& job) const {
    MutexLock lock(mutex_);
    const auto times = jobs_.find(key);
    if (times == jobs_.end()) return false;
    for (const Worker& worker : job.workers) {
      if (!worker.progress || worker.progress->state != api::ProgressState::kProgressing) continue;
      const auto waited = times->second.find(worker.uid);
      if (waited != times->second.end() && worker.progress->time_ms > waited->second) return true;
    }
    return false;
  }
  void Forget(const std::string& key) {
    MutexLock lock(mutex_);
    jobs_.erase(key);
  }

 private:
  using Times = std::map<std::string, std::int64_t>;  // by uid of the pod

  mutable Mutex mutex_;
  std::map<std::string, Times> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
