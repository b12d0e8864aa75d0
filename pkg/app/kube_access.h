// Clients of the cluster that the flags name. Leases and everything else use clients of their own,
// so that no burst of writes makes a renewal wait. Thread safety: Open once, before threads start
// (it sets the trusted certificates of the process); NewClient from any thread.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "pkg/app/runtime.h"
#include "pkg/kube/client.h"
#include "pkg/kube/lease.h"

namespace yardmaster::app {

class KubeAccess {
 public:
  virtual ~KubeAccess() = default;
  // Errors name the kubeconfig and what is wrong with it.
  static absl::StatusOr<std::unique_ptr<KubeAccess>> Open(const CommonOptions& options,
                                                          const std::string& user_agent,
                                                          Runtime& runtime);
  // With a rate limit of its own. Lives no longer than the runtime it was opened with.
  virtual absl::StatusOr<std::unique_ptr<kube::Client>> NewClient(double qps, int burst) = 0;
};

// What a process uses beside its lease: one client for its work, one for events, which may wait.
struct Clients {
  std::unique_ptr<kube::Client> main;
  std::unique_ptr<kube::Client> events;
};
absl::StatusOr<Clients> NewClients(KubeAccess& access, const CommonOptions& options);

// Whether this process may write: always without election, else while it holds the lease.
class Leadership {
 public:
  Leadership(const LeaderOptions& options, Runtime& runtime);
  ~Leadership();
  absl::Status Start(KubeAccess& access);
  bool IsLeader() const { return elector_ == nullptr || elector_->IsLeader(); }
  // Gives the lease up.
  void Stop();

 private:
  LeaderOptions options_;
  Runtime& runtime_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::LeaderElector> elector_;
};

}  // namespace yardmaster::app
