// ReportIntake serves the agents' streams of lost links: it has a gRPC server with mutual TLS, the
// review of agents' tokens, and the links that are reported down. Only the leader serves. The
// streams end with the lease, so that the agents connect to the next leader.
//
// Thread safety: Start and Stop from one thread, links from any. Lifetimes: everything passed in
// outlives the object; `links` is valid as long as the object.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/status.h"

#include "pkg/app/kube_access.h"
#include "pkg/app/leadership.h"
#include "pkg/app/runtime.h"
#include "pkg/kube/client.h"
#include "pkg/metrics/loop.h"
#include "pkg/operator/telemetry/live_links.h"
#include "pkg/operator/telemetry/node_token.h"
#include "pkg/rpc/report_server.h"

namespace yardmaster::app {

class ReportIntake {
 public:
  // `account`: "namespace:name" of the agents' ServiceAccount.
  ReportIntake(const rpc::ReportServerOptions& options, const std::string& account,
               const Leadership& leadership, Runtime& runtime)
      : options_(options),
        account_(account),
        leadership_(leadership),
        runtime_(runtime),
        loop_("reports", runtime.registry(), runtime.log()) {}

  // Has no effect without an address. Errors: InvalidArgument for the account; those of the
  // server's start.
  absl::Status Start(KubeAccess& access);
  void Stop();

  bool serves() const { return server_ != nullptr; }
  const op::LiveLinks& links() const { return links_; }

 private:
  void FollowLeadership(const std::stop_token& stop);
  void AddMetrics();

  const rpc::ReportServerOptions& options_;
  const std::string& account_;
  const Leadership& leadership_;
  Runtime& runtime_;
  metrics::Loop loop_;
  op::LiveLinks links_;
  std::unique_ptr<kube::Client> review_client_;
  std::unique_ptr<op::NodeToken> node_tokens_;
  std::unique_ptr<rpc::ReportServer> server_;
  std::jthread thread_;
};

}  // namespace yardmaster::app
