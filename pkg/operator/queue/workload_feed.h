// WorkloadFeed finds the version in which the cluster serves Kueue's Workloads, v1beta2 or v1beta1,
// and fills a WorkloadCache with those of TrainingJobs. If the cluster serves neither, it asks
// again every 30 s, because Kueue may be installed later.
//
// Thread safety: Start and Stop from one thread. Lifetimes: client, cache and what `timing` refers
// to outlive the feed.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

#include "absl/status/status.h"

#include "pkg/kube/client.h"
#include "pkg/kube/informer.h"
#include "pkg/kube/timing.h"
#include "pkg/operator/queue/workload_cache.h"

namespace yardmaster::op {

class WorkloadFeed {
 public:
  struct Handlers {
    // Called when the Workloads have been read, or when the cluster does not serve them: jobs that
    // wait may continue.
    std::function<void()> known = {};
    // Called with the status of every failed call.
    std::function<void(const absl::Status&)> failed = {};
  };

  WorkloadFeed(kube::Client& client, WorkloadCache& cache, Handlers handlers, kube::Timing timing);
  ~WorkloadFeed() { Stop(); }
  WorkloadFeed(const WorkloadFeed&) = delete;
  WorkloadFeed& operator=(const WorkloadFeed&) = delete;

  void Start();
  void Stop();
  // Asks once. Returns true if the cluster serves Workloads; then the feed watches them.
  bool Discover();

 private:
  void Run(const std::stop_token& stop);
  void Serve(const std::string& version);

  kube::Client& client_;
  WorkloadCache& cache_;
  const Handlers handlers_;
  const kube::Timing timing_;
  std::unique_ptr<kube::Informer> informer_;
  std::jthread thread_;
};

}  // namespace yardmaster::op
