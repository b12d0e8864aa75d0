// The informers of resource.k8s.io (devices by claims), of the newest version that the API server
// has, on a thread that asks which that is: where there is none, once every five minutes.
//
// A server that has the API and refuses to list it, for want of a right, counts as one without:
// `failed` is told, and devices are not counted. Thread safety: Start, WaitForSync and Stop from
// one thread, the others from any. Lifetimes: client, cache and what `timing` refers to outlive the
// feed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"

#include "pkg/base/mutex.h"
#include "pkg/kube/informer.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::state {

// Of resource.k8s.io, newest first.
inline constexpr const char* kDeviceVersions[] = {"v1", "v1beta2", "v1beta1"};

class DeviceFeed {
 public:
  // Every failed list or watch.
  using Failed = std::function<void(Kind, const absl::Status&)>;

  DeviceFeed(kube::Client& client, ClusterCache& cache, Failed failed, kube::Timing timing);
  ~DeviceFeed() { Stop(); }
  DeviceFeed(const DeviceFeed&) = delete;
  DeviceFeed& operator=(const DeviceFeed&) = delete;

  void Start();
  // Until it is known that there is no such API, or all of it has been read once. Errors: as
  // ClusterFeed's.
  absl::Status WaitForSync(std::int64_t timeout_ms, const std::stop_token& stop = {});
  bool HasSynced() const;
  // Steady time of the oldest last contact; the greatest number where nothing is read.
  std::int64_t LastContactMs() const;
  void Stop();

 private:
  using Informers = std::vector<std::unique_ptr<kube::Informer>>;

  void Run(const std::stop_token& stop);
  absl::Status Discover(std::string& version);
  Informers MakeInformers(const std::string& version);

  kube::Client& client_;
  ClusterCache& cache_;
  const Failed failed_;
  const kube::Timing timing_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool known_ ABSL_GUARDED_BY(mutex_) = false;  // whether there is such an API
  // Shared with those that wait; null: not started.
  std::shared_ptr<const Informers> informers_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace yardmaster::state
