// Builds and runs yardmaster-extender: informers -> cluster cache -> planner thread -> view ->
// webhook.
//
//   informers       -> ClusterCache    every change of Fabric, Node, Pod, TrainingJob, Gang
//   ClusterCache    -> planner thread  wakes it after changes (round_schedule.h)
//   planner thread  -> Webhook         publishes immutable Views
//   planner thread  -> API server      Gangs, pod patches (leader only); events
//   lease thread    -> API server      with its own HTTP client
//   planner thread  -> collector       spans of placements, by the exporter's thread, if configured
//   observer thread -> metrics         in Observe mode; then the others decide and write nothing
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
  extender::ClusterPlanner::Options planner;  // of a pass, without the ledger's fence client
  std::int64_t min_pass_ms = 20;              // changes within this time share a pass
  std::int64_t max_pass_ms = 5'000;           // maximum time between passes
  std::int64_t drain_ms = 8'000;              // grace for running requests at SIGTERM
  std::int64_t observe_ms = 15'000;           // interval in Observe mode
  trace::TraceEndpoint traces;
};

// Runs until SIGTERM or SIGINT. Errors: what could not be started, with the flag.
absl::Status RunExtender(const ExtenderOptions& options);

// Parses flags and runs. Returns the exit code of the process.
int ExtenderMain(int argc, char** argv);

}  // namespace yardmaster::app
