// The agent process without its command line: watches the pods of its nodes and the Fabric, keeps
// plan files, reports link states and what host programs saw of the network, collects what training
// processes measure, and answers on gRPC.
//
//   Agent agent(options, {client, timing, log, registry, health, on_notice});
//   status = agent.Start();   // returns at once; readiness says when the caches are filled
//   ...
//   agent.Stop();             // plan files stay: jobs outlive the agent
//
// Thread safety: Start and Stop from one thread, Status from any. Lifetime: everything in
// AgentDeps outlives the agent.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pkg/agent/applier.h"
#include "pkg/agent/host_programs.h"
#include "pkg/agent/link_debouncer.h"
#include "pkg/kube/client.h"
#include "pkg/kube/timing.h"
#include "pkg/metrics/health.h"
#include "pkg/metrics/log.h"
#include "pkg/metrics/registry.h"
#include "pkg/rpc/agent_server.h"
#include "pkg/rpc/report_stream.h"

namespace yardmaster::agent {

struct AgentOptions {
  // The nodes that the agent serves: these, or those that the label selector matches. One of the
  // two. More than one node: one watch of all pods, and folders per node.
  std::vector<std::string> nodes;
  std::string nodes_matching;
  std::string fabric;  // the nodes' Fabric; empty: the first by name
  std::string plan_dir = "/run/yardmaster/plans";
  std::string sysfs_root = "/sys";  // empty: link states are not read
  std::string nic_ports_file;       // empty: discovery
  DebounceTimes debounce;
  std::int64_t link_poll_ms = 250;
  // What host programs have seen of the network (report_relay.h); empty: nothing is relayed.
  std::string reports_dir;
  // How the nodes' NICs balance by themselves, for the annotation yardmaster.dev/nic-load-balancing.
  std::string nic_load_balancing;
  // Measures iterations by the NICs' byte counters (host_job_observer.h); needs one node and sysfs_root.
  bool measure_traffic = true;
  // Traffic class of RDMA connections that choose none (default_class.h); -1: unchanged. Needs
  // configfs_root, "/sys/kernel/config"; empty: nothing there is touched.
  int default_traffic_class = -1;
  std::string configfs_root;
  // Kubelet's PodResources socket, for which NICs pods have (pod_claims.h); empty: it is not asked.
  std::string kubelet_socket;
  // Kubelet's folder of pods, for what the shims in them did; empty: it is not read.
  std::string kubelet_pods_dir;
  // The same folder, for programs that say by a file that a checkpoint is complete; empty: it is not read.
  std::string checkpoint_marks_dir;
  // A dcgm-exporter and an LLDP daemon of the host; needs one node.
  HostProgramOptions programs;
  std::vector<std::string> grpc_addresses = {"unix:/run/yardmaster/agent.sock"};
  rpc::TlsFiles grpc_tls;
  // Where the operator takes reports of lost links at once (report_stream.h), next to the annotation; target
  // empty: nowhere. Needs one node and sysfs_root; the node is filled in.
  rpc::ReportStreamOptions operator_stream;
};

struct AgentDeps {
  kube::Client& client;
  kube::Timing timing;
  const metrics::Logger& log;
  metrics::Registry& registry;
  metrics::Health& health;
  // Tells people about a pod (a Kubernetes Event); called on the plan loop's thread.
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
  // cannot be made, Unavailable for an address that is taken.
  absl::Status Start();
  void Stop();

  rpc::AgentStatus Status() const;
  // Of the i-th gRPC address; 0 for a unix socket.
  int grpc_port(std::size_t i) const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace yardmaster::agent
