// Leadership decides whether this process may write, and with which fencing token.
//
// With --leader-elect it may write while it holds the Lease. Without that flag it always may; then
// only one process must run, and its token is a counter that starts above the tokens in the ledger.
//
// Thread safety: Start and Stop from one thread, the rest from any. Lifetimes: the runtime outlives
// the object.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"

#include "pkg/app/kube_access.h"
#include "pkg/app/runtime.h"
#include "pkg/kube/client.h"
#include "pkg/kube/lease.h"

namespace yardmaster::app {

// A process that does not lead retries its work after this time.
inline constexpr std::int64_t kFollowerRetryMs = 2'000;

class Leadership {
 public:
  Leadership(const LeaderOptions& options, Runtime& runtime);
  ~Leadership();
  // Errors: contradicting options, or no client.
  absl::Status Start(KubeAccess& access);
  // Releases the lease. This process does not lead from the start of the call.
  void Stop();

  bool IsLeader() const { return FencingToken() != 0; }
  // The token of the present hold; 0: this process does not lead.
  std::int64_t FencingToken() const;
  // Ends the present hold if its token is not greater than `token`. Later tokens are greater.
  void RequireTokenAbove(std::int64_t token);

 private:
  absl::Status StartElector(KubeAccess& access);

  const LeaderOptions options_;
  Runtime& runtime_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::int64_t> own_token_ = 1;  // without election
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::LeaderElector> elector_;
};

}  // namespace yardmaster::app
