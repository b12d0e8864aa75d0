// Writes the progress of workers to the API server, as the pod annotation yardmaster.dev/progress
// (api/progress_report.h).
//
// An annotation is written
//   - if the report differs from it: whether the worker waits and since when, what its processes
//     do, whether its GPUs compute;
//   - while the worker waits, if the annotation is older than kProgressRenewalMs;
//   - to withdraw that a worker waits, if nothing is known of it: an earlier process of this agent
//     wrote it, or its counters are no longer read.
//
// Rates: a pod is written at most once in `pod_interval_ms`, and at most `writes_per_flush` pods
// per call. A failed write is tried again after that interval. While a worker waits, changes of the
// rest of its report are written after intervals that double up to kProgressRenewalMs, because the
// processes of thousands of workers of a hanging job may alternate between idle and busy.
//
// Thread safety: one thread; writes() from any. Lifetimes: the client outlives the object.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pkg/agent/plans/pod_input.h"
#include "pkg/api/progress_report.h"
#include "pkg/kube/client.h"

namespace yardmaster::agent {

struct ProgressWriteOptions {
  std::int64_t pod_interval_ms = 30'000;
  int writes_per_flush = 8;
};

class ProgressWriter {
 public:
  ProgressWriter(kube::Client& client, ProgressWriteOptions options)
      : client_(client), options_(options) {}

  // `reports`: by uid of a pod of this host. `annotated`: the uids of pods that have the
  // annotation. Returns the errors; empty: none.
  std::vector<absl::Status> Flush(std::int64_t steady_ms,
                                  const std::map<std::string, api::ProgressReport>& reports,
                                  const std::vector<std::string>& annotated, const FindPod& find);
  std::int64_t writes() const { return writes_; }

 private:
  struct Pod {
    std::int64_t next_ms = 0;       // when another state may be written
    std::int64_t next_else_ms = 0;  // when the rest may be written
    std::int64_t interval_ms = 0;   // until the rest may be written again
  };
  absl::Status Write(const PodInput& pod, const api::ProgressReport* report);

  kube::Client& client_;
  const ProgressWriteOptions options_;
  std::map<std::string, Pod> pods_;  // by uid
  std::atomic<std::int64_t> writes_ = 0;
};

}  // namespace yardmaster::agent
