// The options of an agent, as its command line gives them: the nodes it serves, where it finds
// things on the host, and where it reports. Thread safety: a value.
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
  // The nodes that the agent serves: these, or those that the label selector matches. One of the
  // two. More than one node: one watch of all pods, and folders per node.
  std::vector<std::string> nodes;
  std::string nodes_matching;
  std::string fabric;  // the nodes' Fabric; empty: the one in use
  std::string plan_dir = "/run/yardmaster/plans";
  std::string sysfs_root = "/sys";  // empty: link states are not read
  std::string nic_ports_file;       // empty: discovery
  DebounceTimes debounce;
  LossLimits loss;
  std::int64_t link_poll_ms = 250;
  // What host programs have seen of the network (report_relay.h); empty: nothing is relayed.
  std::string reports_dir;
  // How the nodes' NICs balance by themselves, for the annotation
  // yardmaster.dev/nic-load-balancing.
  std::string nic_load_balancing;
  // Measures iterations by the NICs' byte counters (host_job_observer.h); needs one node and
  // sysfs_root.
  bool measure_traffic = true;
  // Traffic class of RDMA connections that choose none (default_class.h); -1: unchanged. Needs
  // configfs_root, "/sys/kernel/config"; empty: nothing there is touched.
  int default_traffic_class = -1;
  std::string configfs_root;
  // Kubelet's PodResources socket, for which NICs pods have (pod_claims.h); empty: it is not asked.
  std::string kubelet_socket;
  // Kubelet's folder of pods, for what the shims in them did; empty: it is not read.
  std::string kubelet_pods_dir;
  // The same folder, for programs that say by a file that a checkpoint is complete; empty: it is
  // not read.
  std::string checkpoint_marks_dir;
  // The host's /proc, for what the processes of pods do that make no progress; empty: it is not
  // read.
  std::string proc_root;
  // A dcgm-exporter and an LLDP daemon of the host; needs one node.
  HostProgramOptions programs;
  std::vector<std::string> grpc_addresses = {"unix:/run/yardmaster/agent.sock"};
  rpc::TlsFiles grpc_tls;
  // Where the operator takes reports of lost links at once (rpc/report_stream.h), next to the
  // annotation; target empty: nowhere. Needs one node and sysfs_root; the node is filled in.
  rpc::ReportStreamOptions operator_stream;

  // It serves the node of the host that it runs on, and no other.
  bool one_node() const { return nodes_matching.empty() && nodes.size() == 1; }
};

// InvalidArgument, with the flag, for options that cannot work.
absl::Status CheckOptions(const AgentOptions& options);

}  // namespace yardmaster::agent
