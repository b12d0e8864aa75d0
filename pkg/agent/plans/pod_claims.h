// Collects which NICs the host's pods have (pod_nics.h): queries kubelet for devices, at most every
// kQueryIntervalMs, and reads the rest from annotations. While kubelet does not respond, its last
// response is used.
//
// Thread safety: Claims from one thread, problem from any. Lifetimes: the clock outlives the
// object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/agent/plans/pod_input.h"
#include "pkg/agent/plans/pod_nics.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/rpc/pod_resources_client.h"

namespace yardmaster::agent {

class PodClaims {
 public:
  static constexpr std::int64_t kQueryIntervalMs = 10'000;

  // `socket`: kubelet's; empty: it is not queried.
  PodClaims(const Clock& clock, const std::string& socket);

  // Returns the claims of the pods with these uids. `find` returns the pod with a uid, or nullopt
  // if it is gone.
  std::vector<PodClaim> Claims(const std::vector<std::string>& pod_uids, const FindPod& find);

  // Returns why kubelet did not respond last; OK: it did, or it is not queried.
  absl::Status problem() const;

 private:
  void QueryKubelet();

  const Clock& clock_;
  const std::unique_ptr<rpc::PodResourcesClient> kubelet_;  // null: not queried
  std::int64_t next_query_ms_ = 0;
  std::vector<rpc::PodDevices> devices_;
  mutable Mutex mutex_;
  absl::Status problem_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::agent
