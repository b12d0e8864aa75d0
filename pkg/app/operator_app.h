// Builds and runs yardmaster-operator: informers -> work queue -> job workers, and informers ->
// debounced network planner.
//
//   informers       -> ClusterCache    every change of Fabric, Node, Pod, TrainingJob, Gang,
//                                      CapacityPool
//   informers       -> WorkQueue       keys of TrainingJobs that a change concerns
//   job workers     -> API server      pods, Services, TrainingJob status; events
//   network thread  -> API server      Gang status (network part), pod annotations
//   wait thread     -> API server      Gangs and spec.suspend of other controllers' jobs (option)
//   page thread     -> browsers        frames of the cluster (page_publisher.h; option)
//   agents          -> LiveLinks       states of NIC ports, over gRPC streams (option)
//   moves thread    -> metrics         moves of running jobs that are worth their price
//   trace thread    -> collector       spans of starts and recoveries (tracing.h; option)
//   host thread     -> API server      marks of quarantined and fenced hosts on Nodes
//   certificates    -> API server      certificates in Secrets (option)
//   lease thread    -> API server      with its own HTTP client
//
// Thread safety: one thread calls Run.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

#include "pkg/app/certificate_renewal.h"
#include "pkg/app/runtime.h"
#include "pkg/operator/hosts/host_health.h"
#include "pkg/operator/hosts/host_marker.h"
#include "pkg/operator/jobs/move_policy.h"
#include "pkg/operator/network/network_controller.h"
#include "pkg/rpc/report_server.h"
#include "pkg/trace/exporter.h"

namespace yardmaster::app {

struct OperatorOptions {
  CommonOptions common;
  LeaderOptions leader;
  int job_workers = 4;
  std::int64_t plan_min_delay_ms = 100;    // time without changes before the network is planned
  std::int64_t plan_max_delay_ms = 1'000;  // maximum delay of planning under constant change
  std::string page_address;                // address of the read-only page; empty: none
  bool rent_hosts = true;                  // rent hosts from CapacityPools
  bool follow_kueue = false;               // TrainingJobs may name a queue of Kueue
  bool wait_suspended = false;             // support the label yardmaster.dev/wait
  bool place_first = true;                 // create pods of a TrainingJob when it has a place
  std::int64_t network_wait_ms = 10'000;   // and a network plan, or after this time
  op::MovePolicyOptions moves;             // policy for moves of running jobs
  std::int64_t moves_every_ms = 600'000;   // interval of their computation
  op::NetworkController::Options network;
  op::HostLossLimits host_loss;
  op::HostMarker::Options hosts;
  rpc::ReportServerOptions reports;  // address empty: agents have no streams
  std::string reports_account;       // "namespace:name" of the agents' ServiceAccount
  CertificateOptions certificates;
  trace::TraceEndpoint traces;
};

// Runs until SIGTERM or SIGINT.
absl::Status RunOperator(const OperatorOptions& options);

int OperatorMain(int argc, char** argv);

}  // namespace yardmaster::app
