// Looks for Kueue's Workloads in the cluster, in kueue.x-k8s.io/v1beta2 and then v1beta1, and keeps
// a WorkloadCache equal to those of TrainingJobs. Where the cluster does not serve them, it looks
// again every half minute, so that Kueue may be installed later.
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
    // Workloads were read, or are known not to be served: what jobs wait for may have changed.
    std::function<void()> known = {};
    // Every failed call.
    std::function<void(const absl::Status&)> failed = {};
  };

  WorkloadFeed(kube::Client& client, WorkloadCache& cache, Handlers handlers, kube::Timing timing);
  ~WorkloadFeed() { Stop(); }
  WorkloadFeed(const WorkloadFeed&) = delete;
  WorkloadFeed& operator=(const WorkloadFeed&) = delete;

  void Start();
  void Stop();
  // Asks once. True: they are served, and are being read from now on.
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
