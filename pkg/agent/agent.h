// The agent process without its command line. It watches the pods of its nodes and the Fabric,
// writes plan files, reports link states and what host programs observed of the network, collects
// what training processes measure, and serves gRPC.
//
//   Agent agent(options, {client, timing, log, registry, health, on_notice});
//   status = agent.Start();   // returns at once; readiness reports when the caches are filled
//   ...
//   agent.Stop();             // plan files stay, because jobs outlive the agent
//
// Thread safety: Start and Stop from one thread, Status from any. Lifetime: everything in AgentDeps
// outlives the agent.
#pragma once

#include <functional>
#include <memory>

#include "pkg/agent/agent_options.h"
#include "pkg/agent/plans/applier.h"
#include "pkg/kube/client.h"
#include "pkg/kube/timing.h"
#include "pkg/metrics/health.h"
#include "pkg/metrics/log.h"
#include "pkg/metrics/registry.h"
#include "pkg/rpc/agent_server.h"

namespace yardmaster::agent {

struct AgentDeps {
  kube::Client& client;
  kube::Timing timing;
  const metrics::Logger& log;
  metrics::Registry& registry;
  metrics::Health& health;
  // Writes an Event about a pod; called on the thread of the plan loop.
  std::function<void(const PodNotice&)> on_notice;
};

class Agent {
 public:
  // Adds metrics and health checks, so construct it before they are served.
  Agent(AgentOptions options, AgentDeps deps);
  ~Agent();  // as Stop
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Errors: InvalidArgument for options that cannot work, FailedPrecondition for a folder that
  // cannot be created, Unavailable for an address that is in use.
  absl::Status Start();
  void Stop();

  rpc::AgentStatus Status() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace yardmaster::agent
