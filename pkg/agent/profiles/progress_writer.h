// Writes what is known of the progress of workers to the API server: the pod annotation
// yardmaster.dev/progress (api/progress_report.h).
//
// Written where it says something else than the pod's annotation does: whether the worker waits,
// and since when, what its processes do, whether its GPUs compute; and where that is older than
// kProgressRenewalMs while the worker waits. That a worker waits is withdrawn where nothing is
// known of it: an earlier process of this agent wrote it, or its counters are not read any more.
//
// A pod is written at most every `pod_interval_ms`, and at most `writes_per_flush` pods at once; a
// write that fails is tried again after that interval. While a worker waits what else is said of it
// is written after twice as long each time, up to kProgressRenewalMs: of a job that hangs the
// processes of thousands of workers may seem idle at one time and busy at another.
//
// Thread safety: one thread; writes() from any. Lifetimes: the client outlives it.
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

  // `reports`: by uid of a pod of this host. `annotated`: the uids of those that have the
  // annotation. What went wrong; empty: nothing.
  std::vector<absl::Status> Flush(std::int64_t steady_ms,
                                  const std::map<std::string, api::ProgressReport>& reports,
                                  const std::vector<std::string>& annotated, const FindPod& find);
  std::int64_t writes() const { return writes_; }

 private:
  struct Pod {
    std::int64_t next_ms = 0;       // another state
    std::int64_t next_else_ms = 0;  // what else is said
    std::int64_t interval_ms = 0;   // until what else is said may change again
  };
  absl::Status Write(const PodInput& pod, const api::ProgressReport* report);

  kube::Client& client_;
  const ProgressWriteOptions options_;
  std::map<std::string, Pod> pods_;  // by uid
  std::atomic<std::int64_t> writes_ = 0;
};

}  // namespace yardmaster::agent
