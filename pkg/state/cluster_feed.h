// The informers that keep a ClusterCache up to date: which kinds a process reads, and when it has
// read all of them once. One kind of resource.k8s.io stands for all of them (device_feed.h). Thread
// safety: Start, WaitForSync and Stop from one thread, the others
// from any. Lifetimes: client, cache and what `timing` refers to outlive the feed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"

#include "pkg/kube/informer.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/device_feed.h"

namespace yardmaster::state {

kube::Resource ResourceOf(Kind kind);

class ClusterFeed {
 public:
  struct Handlers {
    // Every failed list or watch.
    std::function<void(Kind, const absl::Status&)> failed = {};
  };

  ClusterFeed(kube::Client& client, ClusterCache& cache, const std::vector<Kind>& kinds,
              Handlers handlers, kube::Timing timing);
  void Start();
  // Waits for the kinds one after the other, `timeout_ms` at most for each. Errors:
  // DeadlineExceeded naming the kind that is not there yet, Cancelled after Stop or `stop`.
  absl::Status WaitForSync(std::int64_t timeout_ms, const std::stop_token& stop = {});
  bool HasSynced() const;
  // Steady time of the oldest last contact over all kinds; -1 while a kind has had none.
  std::int64_t LastContactMs() const;
  void Stop();

 private:
  std::vector<std::unique_ptr<kube::Informer>> informers_;
  std::unique_ptr<DeviceFeed> devices_;  // null: its kinds are not read
};

}  // namespace yardmaster::state
