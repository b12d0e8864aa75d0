// The object graph of yardmaster-extender: informers -> cluster cache -> planner thread -> view ->
// webhook.
//
//   informers      -> ClusterCache        every change of Fabric, Node, Pod, TrainingJob, Gang
//   ClusterCache     -> planner thread    wakes when something changed (round_schedule.h)
//   planner thread -> Webhook           one immutable View after another
//   planner thread -> API server        Gangs, pod patches (leader only); events
//   lease thread   -> API server        with an HTTP client of its own
//
// Thread safety: one thread calls Run.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

#include "pkg/app/runtime.h"
#include "pkg/app/webhook_server.h"

namespace yardmaster::app {

struct ExtenderOptions {
  CommonOptions common;
  LeaderOptions leader;
  WebhookServerOptions webhook;
  std::int64_t min_pass_ms = 20;                // changes that come together are planned together
  std::int64_t max_pass_ms = 5'000;             // a pass is made at least so often
  bool preemption = true;                       // stop gangs of lower priority for those that wait
  bool taint_promised_hosts = true;             // and hosts that the policy chose as backup
  std::int64_t taint_after_seconds = 0;         // 0: from the commit on, until the gang is gone
  bool avoid_contention = false;                // among places that are equal otherwise
  std::int64_t gate_timeout_seconds = 0;        // 0: no limit of a gang's wait behind the gate
  std::string gate_timeout_action = "Release";  // or "Fail"
  std::int64_t ready_timeout_seconds = 0;       // 0: no limit of a placed gang's start
  std::int64_t max_eviction_grace_seconds = 600;
  std::int64_t unbound_timeout_seconds = 600;  // 0: no limit for a gang of which no pod is bound
  std::int64_t network_plan_wait_seconds = 0;  // 0: placed gangs do not wait for their network plan
  std::int64_t drain_ms = 8'000;               // for requests in flight at SIGTERM
};

// Runs until SIGTERM or SIGINT. Errors: what could not be started, naming the flag.
absl::Status RunExtender(const ExtenderOptions& options);

// Parses flags and runs; the exit code of the process.
int ExtenderMain(int argc, char** argv);

}  // namespace yardmaster::app
