// Observes which workers of the host make progress (progress_verdict.h): keeps a tracker for each
// pod, and examines the processes and GPUs of those that have been quiet for kLookMs. A host on
// which all workers make progress costs one look at their processes every ten minutes, in addition
// to reading the counters.
//
// A worker whose processes have ended has left its loop for good, whatever its pod does afterwards:
// the remaining processes have less than a tenth of the CPU time that was used while it trained.
//
// The report of a pod changes when it begins to wait, when it makes progress again, and when its
// processes or GPUs do something else. The time of its last progress is that of the first of these;
// the report's own time is that of the last look. A waiting pod is no longer reported while nothing
// is known of it, for example while its counters cannot be read. It is reported again once they can
// be read and show no progress meanwhile.
//
// Thread safety: Report and reports from any thread; the others from one. Lifetime: what the
// functions use outlives the object.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "pkg/agent/profiles/pod_processes.h"
#include "pkg/agent/profiles/progress_tracker.h"
#include "pkg/agent/profiles/progress_verdict.h"
#include "pkg/api/progress_report.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace yardmaster::agent {

class ProgressObserver {
 public:
  struct Sources {
    // Samples the processes of a pod; nullopt: not known.
    std::function<std::optional<ProcessSample>(std::int64_t steady_ms, const std::string& pod_uid)>
        processes;
    // True if the GPUs of a pod compute; nullopt: not known.
    std::function<std::optional<bool>(const std::string& pod_uid)> gpus_compute;
  };

  ProgressObserver(const Clock& clock, Sources sources, ProgressLimits limits = {})
      : clock_(clock), sources_(std::move(sources)), limits_(limits) {}

  void AddTraffic(std::int64_t steady_ms, const std::string& pod_uid, double sent_bytes);
  void AddPeriod(std::int64_t steady_ms, const std::string& pod_uid, double iteration_seconds);
  // The pod's process reports that iterations have ended.
  void Report(const std::string& pod_uid);
  // Does the due work, at most once a second. `uids`: of the host's pods; others are forgotten.
  void Step(std::int64_t steady_ms, const std::set<std::string>& uids);

  // Returns the reports of pods that have waited since this process started and of which something
  // is known.
  std::map<std::string, api::ProgressReport> reports() const;

 private:
  struct Pod {
    ProgressTracker tracker;
    std::deque<ProcessSample> samples;  // of the present pause, the last kSummarySamples
    std::int64_t next_sample_ms = 0;
    std::int64_t work_cpu_ms = 0;  // CPU time of its processes while it made progress
    std::int64_t next_work_ms = 0;
  };

  void TakeReported(std::int64_t steady_ms);
  void Sample(std::int64_t steady_ms, const std::string& uid, Pod& pod, std::int64_t quiet_ms);
  // For an armed worker that makes progress.
  void SampleWork(std::int64_t steady_ms, const std::string& uid, Pod& pod);
  void Assess(std::int64_t steady_ms, const std::string& uid, Pod& pod);
  void Publish(const std::string& uid, api::ProgressReport report);
  void Withdraw(const std::string& uid);

  const Clock& clock_;
  const Sources sources_;
  const ProgressLimits limits_;
  // The stepping thread's.
  std::map<std::string, Pod> pods_;
  std::int64_t next_ms_ = 0;

  mutable Mutex mutex_;
  std::map<std::string, std::int64_t> reported_ ABSL_GUARDED_BY(mutex_);  // when, by uid
  std::map<std::string, api::ProgressReport> reports_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::agent
