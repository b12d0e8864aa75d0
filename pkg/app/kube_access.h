// KubeAccess creates clients of the cluster that the flags name. Leases use their own client, so
// that a burst of writes does not delay a renewal.
//
// Thread safety: Open once, before threads start (it sets the trusted certificates of the process);
// NewClient and End from one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "pkg/app/runtime.h"
#include "pkg/kube/client.h"

namespace yardmaster::app {

struct ClientLimits {
  double qps = 50;
  int burst = 100;
  std::int64_t call_deadline_ms = 30'000;     // for a call, with all its retries
  std::int64_t attempt_deadline_ms = 20'000;  // for one attempt
  std::int64_t watch_idle_ms = 180'000;       // maximum time without an event or bookmark
};

class KubeAccess {
 public:
  virtual ~KubeAccess() = default;
  // Errors: name the kubeconfig and what is wrong with it.
  static absl::StatusOr<std::unique_ptr<KubeAccess>> Open(const CommonOptions& options,
                                                          const std::string& user_agent,
                                                          Runtime& runtime);
  // Creates a client with its own limits. The access and its runtime outlive the client.
  virtual absl::StatusOr<std::unique_ptr<kube::Client>> NewClient(const ClientLimits& limits) = 0;
  // Called when the process ends: from now on no client waits long for the API server (Ending in
  // pkg/kube/rest_client.h).
  virtual void End() = 0;
  // Steady time of the last answer of the API server to any client; -1: none yet. From any thread.
  virtual std::int64_t LastAnswerMs() const = 0;
};

// The clients of a process besides that of its lease: one for its work, one for events, which may
// wait, and one for the writes with which a new leader takes over the ledger, which may not. In a
// process that only observes, they reject every write (kube/read_only_client.h).
struct Clients {
  std::unique_ptr<kube::Client> main;
  std::unique_ptr<kube::Client> events;
  std::unique_ptr<kube::Client> fence;
};
absl::StatusOr<Clients> NewClients(KubeAccess& access, const CommonOptions& options);

}  // namespace yardmaster::app
