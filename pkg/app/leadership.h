// Whether this process may write, and under which fencing token.
//
// With --leader-elect it may while it holds the Lease. Without, it always may: run one process
// then. Its token is then a count of its own, which begins above what the ledger holds.
// Thread safety: Start and Stop from one thread, the rest from any. Lifetimes: the runtime outlives
// it.
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

// What a process that does not lead would have done is looked at again after this time.
inline constexpr std::int64_t kFollowerRetryMs = 2'000;

class Leadership {
 public:
  Leadership(const LeaderOptions& options, Runtime& runtime);
  ~Leadership();
  // Errors: options that contradict each other, no client.
  absl::Status Start(KubeAccess& access);
  // Gives the lease up. From its call on this process does not lead.
  void Stop();

  bool IsLeader() const { return FencingToken() != 0; }
  // Of the present hold; 0 while this process does not lead.
  std::int64_t FencingToken() const;
  // Ends a present hold whose token is not greater than `token`; those of later holds are.
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
