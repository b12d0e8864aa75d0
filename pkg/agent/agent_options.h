// Defines the options of an agent, as its command line sets them: the nodes that it serves, paths
// on the host, and where it reports.
//
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pkg/agent/ports/link_debouncer.h"
#include "pkg/agent/ports/port_loss.h"
#include "pkg/agent/profiles/host_programs.h"
#include "pkg/rpc/agent_server.h"
#include "pkg/rpc/report_stream.h"

namespace yardmaster::agent {

struct AgentOptions {
  // The nodes that the agent serves: either this list or those that the label selector matches.
  // With more than one node, the agent watches all pods once and uses a folder per node.
  std::vector<std::string> nodes;
  std::string nodes_matching;
  std::string fabric;  // the Fabric of the nodes; empty: the one in use
  std::string plan_dir = "/run/yardmaster/plans";
  std::string sysfs_root = "/sys";  // empty: link states are not read
  std::string nic_ports_file;       // empty: discovery
  DebounceTimes debounce;
  LossLimits loss;
  std::int64_t link_poll_ms = 250;
  // Folder of the reports of host programs about the network (report_relay.h); empty: none are
  // relayed.
  std::string reports_dir;
  // How the nodes' NICs balance load themselves, for the annotation
  // yardmaster.dev/nic-load-balancing.
  std::string nic_load_balancing;
  // Whether iterations are measured by the NICs' byte counters (host_job_observer.h). Requires one
  // node and sysfs_root.
  bool measure_traffic = true;
  // Traffic class of RDMA connections that choose none (default_class.h); -1: unchanged. Requires
  // configfs_root ("/sys/kernel/config"); if that is empty, configfs is not written.
  int default_traffic_class = -1;
  std::string configfs_root;
  // Kubelet's PodResources socket, which tells the NICs of pods (pod_claims.h); empty: not used.
  std::string kubelet_socket;
  // Kubelet's folder of pods, to read the reports of the shims in pods; empty: not read.
  std::string kubelet_pods_dir;
  // The same folder, to read the files by which programs report complete checkpoints; empty: not
  // read.
  std::string checkpoint_marks_dir;
  // The host's /proc, to read the state of processes of pods without progress; empty: not read.
  std::string proc_root;
  // The dcgm-exporter and the LLDP daemon of the host. Requires one node.
  HostProgramOptions programs;
  std::vector<std::string> grpc_addresses = {"unix:/run/yardmaster/agent.sock"};
  rpc::TlsFiles grpc_tls;
  // The operator's endpoint for immediate reports of lost links (rpc/report_stream.h), in addition
  // to the annotation. An empty target: none. Requires one node and sysfs_root; the agent fills in
  // the node.
  rpc::ReportStreamOptions operator_stream;

  // Whether the agent serves only the node on which it runs.
  bool one_node() const { return nodes_matching.empty() && nodes.size() == 1; }
};

// Errors: InvalidArgument, with the flag, for invalid options.
absl::Status CheckOptions(const AgentOptions& options);

}  // namespace yardmaster::agent
