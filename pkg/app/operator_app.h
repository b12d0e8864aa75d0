// The object graph of yardmaster-operator: informers -> work queue -> job workers, and informers ->
// debounced network planner.
//
//   informers       -> ClusterCache       every change of Fabric, Node, Pod, TrainingJob, Gang,
//                   CapacityPool
//   informers       -> WorkQueue        keys of TrainingJobs that a change concerns
//   job workers     -> API server       pods, Services, TrainingJob status; events
//   network thread  -> API server       Gang status (network part), pod annotations
//   wait thread     -> API server       Gangs and spec.suspend of jobs of others, on request
//   page thread     -> browsers         frames of the cluster (page_publisher.h), on request
//   agents          -> LiveLinks        states of NIC ports, over gRPC streams, on request
//   moves thread    -> metrics          moves of running jobs that would earn their price
//   trace thread    -> collector        spans of starts and recoveries (tracing.h), on request
//   host thread     -> API server       marks of quarantined and fenced hosts on Nodes
//   certificates    -> API server       certificates in Secrets, on request
//   lease thread    -> API server       with an HTTP client of its own
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
  std::int64_t plan_min_delay_ms = 100;    // quiet time before the network is planned again
  std::int64_t plan_max_delay_ms = 1'000;  // under constant change it is planned at least so often
  std::string page_address;                // of the read-only page; empty: none
  bool rent_hosts = true;                  // from CapacityPools
  bool follow_kueue = false;               // quota of TrainingJobs that name a queue
  bool wait_suspended = false;             // jobs of others with the label yardmaster.dev/wait
  bool place_first = true;                 // pods of TrainingJobs are made once these have a place
  std::int64_t network_wait_ms = 10'000;   // and its network plan, or after this time
  op::MovePolicyOptions moves;             // of running jobs
  std::int64_t moves_every_ms = 600'000;   // they are looked for
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
