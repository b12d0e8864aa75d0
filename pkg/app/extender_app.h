// The object graph of yardmaster-extender: informers -> cluster cache -> planner thread -> view ->
// webhook.
//
//   informers      -> ClusterCache        every change of Fabric, Node, Pod, TrainingJob, Gang
//   ClusterCache     -> planner thread    wakes when something changed (round_schedule.h)
//   planner thread -> Webhook           one immutable View after another
//   planner thread -> API server        Gangs, pod patches (leader only); events
//   lease thread   -> API server        with an HTTP client of its own
//   planner thread -> collector         spans of places, by a thread of the exporter, on request
//   observer thread -> metrics          in Observe mode, in which the others decide and write
//   nothing
//
// Thread safety: one thread calls Run.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "pkg/app/runtime.h"
#include "pkg/app/webhook_server.h"
#include "pkg/extender/cluster_planner.h"
#include "pkg/trace/exporter.h"

namespace yardmaster::app {

struct ExtenderOptions {
  CommonOptions common;
  LeaderOptions leader;
  WebhookServerOptions webhook;
  extender::ClusterPlanner::Options planner;  // what a pass does; without the ledger's fence client
  std::int64_t min_pass_ms = 20;              // changes that come together are planned together
  std::int64_t max_pass_ms = 5'000;           // a pass is made at least so often
  std::int64_t drain_ms = 8'000;              // for requests in flight at SIGTERM
  std::int64_t observe_ms = 15'000;           // between two looks, in Observe mode
  trace::TraceEndpoint traces;
};

// Runs until SIGTERM or SIGINT. Errors: what could not be started, naming the flag.
absl::Status RunExtender(const ExtenderOptions& options);

// Parses flags and runs; the exit code of the process.
int ExtenderMain(int argc, char** argv);

}  // namespace yardmaster::app
