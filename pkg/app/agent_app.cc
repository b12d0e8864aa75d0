#include "pkg/app/agent_app.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <malloc.h>

#include "pkg/agent/host_folders.h"
#include "pkg/app/announce.h"
#include "pkg/app/kube_access.h"
#include "pkg/base/status.h"
#include "pkg/base/version.h"
#include "pkg/kube/events.h"

namespace yardmaster::app {

namespace {

constexpr char kName[] = "yardmaster-agent";

kube::EventRecord EventOf(const agent::PodNotice& notice) {
  kube::EventRecord event;
  event.regarding = {"v1", "Pod", notice.pod.ns, notice.pod.name, notice.pod.uid};
  event.type = kube::EventType::kWarning;
  event.action = "ApplyingNetworkPlan";
  event.note = notice.message;
  switch (notice.kind) {
    case agent::NoticeKind::kSynced:
      event.type = kube::EventType::kNormal;
      event.reason = "NetworkPlanInForce";
      break;
    case agent::NoticeKind::kStale:
      event.reason = "NetworkPlanStale";
      break;
    case agent::NoticeKind::kInvalid:
      event.reason = "NetworkPlanInvalid";
      break;
    case agent::NoticeKind::kWriteFailed:
      event.reason = "NetworkPlanNotWritten";
      break;
  }
  return event;
}

void AddAgentFlags(CLI::App& app, agent::AgentOptions& options) {
  app.add_option("--node", options.nodes,
                 "node that the agent serves; default $NODE_NAME; may be repeated");
  app.add_option("--nodes-matching", options.nodes_matching,
                 "label selector of the nodes that the agent serves, instead of --node");
  app.add_option("--fabric", options.fabric, "the nodes' Fabric; default the one in use");
  app.add_option("--plan-dir", options.plan_dir,
                 "folder of the plan files; with several nodes one folder each in it");
  app.add_option("--sysfs-root", options.sysfs_root,
                 "where link states are read; with several nodes a tree each in it; \"\": nowhere");
  app.add_option("--nic-ports-file", options.nic_ports_file,
                 "YAML file that says which device is which port of which rail; default discovery");
  app.add_option("--link-poll-ms", options.link_poll_ms, "how often link states are read");
  app.add_option("--link-down-ms", options.debounce.down_after_ms,
                 "how long a link must be lost before it is reported");
  app.add_option("--link-up-ms", options.debounce.up_after_ms,
                 "how long a link must be back before it is reported");
  app.add_option("--lossy-port-share", options.loss.share,
                 "share of the frames that arrive damaged, from which connections avoid a NIC port "
                 "whose link is up; 0: no port is avoided");
  app.add_option(
      "--reports-dir", options.reports_dir,
      "folder of neighbours.json and observed-paths.json that host programs write; their "
      "content becomes Node annotations; default none");
  app.add_option(
      "--nic-load-balancing", options.nic_load_balancing,
      "how the NICs choose paths by themselves (adaptive-routing, spectrum-x, ...), none "
      "if they do not; default: the Node's annotation is left alone");
  app.add_flag("--measure-traffic,!--no-measure-traffic", options.measure_traffic,
               "measure iterations by the NICs' byte counters; default on");
  app.add_option("--default-traffic-class", options.default_traffic_class,
                 "traffic class of RDMA connections that choose none; default: unchanged")
      ->check(CLI::Range(-1, 255))
      ->default_function({});
  app.add_option("--configfs-root", options.configfs_root,
                 "the host's /sys/kernel/config, to set the default traffic class; default none");
  app.add_option("--kubelet-socket", options.kubelet_socket,
                 "kubelet's PodResources socket, to learn which NICs pods have; default not asked");
  app.add_option("--kubelet-pods-dir", options.kubelet_pods_dir,
                 "kubelet's folder of pods, to read what their shims did; default not read");
  app.add_option("--checkpoint-marks-dir", options.checkpoint_marks_dir,
                 "kubelet's folder of pods, to read the files by which programs say that a "
                 "checkpoint is complete; default not read");
  app.add_option("--proc-root", options.proc_root,
                 "the host's /proc, to read what the processes of pods do that make no progress; "
                 "default not read");
  agent::HostProgramOptions& programs = options.programs;
  app.add_option("--gpu-metrics", programs.gpu_metrics,
                 "http:// URL or file of a dcgm-exporter's metrics, to measure FLOP; default none");
  app.add_option("--gpu-peak", programs.gpu_peaks,
                 "MODEL=TERAFLOPS@MEGAHERTZ of a GPU that is not known; may be repeated");
  app.add_option("--lldp-file", programs.lldp_file,
                 "file with what lldpcli -f json0 show neighbors prints; default none");
  app.add_option("--lldp-command", programs.lldp_command,
                 "command that prints it, instead of a file; run without a shell");
  app.add_option("--lldp-names-file", programs.lldp_names_file,
                 "YAML file that says which switch and port of the Fabric a neighbour is; without "
                 "it no cable is compared with the Fabric");
  app.add_option("--grpc-bind-address", options.grpc_addresses,
                 "unix:/path or host:port of the status service; may be repeated");
  app.add_option("--grpc-tls-cert-file", options.grpc_tls.certificate, "certificate for TCP");
  app.add_option("--grpc-tls-key-file", options.grpc_tls.key, "its key");
  app.add_option("--grpc-client-ca-file", options.grpc_tls.authority, "authority of the clients");
  rpc::ReportStreamOptions& stream = options.operator_stream;
  app.add_option("--operator-address", stream.target,
                 "host:port where the operator takes reports of lost links; default none");
  app.add_option("--operator-tls-cert-file", stream.tls.certificate,
                 "certificate for the operator");
  app.add_option("--operator-tls-key-file", stream.tls.key, "its key");
  app.add_option("--operator-ca-file", stream.tls.authority, "authority of the operator's");
  app.add_option("--operator-token-file", stream.token_file,
                 "ServiceAccount token that says which node this is");
}

}  // namespace

absl::Status RunAgent(const AgentAppOptions& options) {
  if (options.prepare_folders_for.has_value()) {
    const agent::AgentOptions& agent = options.agent;
    return agent::HandOverFolders(agent::WrittenFolders(agent.plan_dir, agent.grpc_addresses),
                                  *options.prepare_folders_for);
  }
  Runtime runtime(options.common, kName);
  YM_ASSIGN_OR_RETURN(auto access, KubeAccess::Open(options.common, kName, runtime));
  YM_ASSIGN_OR_RETURN(const Clients clients, NewClients(*access, options.common));
  kube::EventRecorder events(*clients.events, {"yardmaster.dev/agent", runtime.identity()},
                             runtime.timing());
  CountDroppedEvents(events, runtime.registry());
  agent::Agent agent(
      options.agent,
      {*clients.main, runtime.timing(), runtime.log(), runtime.registry(), runtime.health(),
       [&](const agent::PodNotice& notice) { events.Record(EventOf(notice)); }});
  absl::Status status = runtime.Serve();
  if (status.ok()) status = agent.Start();
  if (status.ok()) {
    runtime.log().Info("running");
    runtime.WaitForSignal();
  }
  access->End();
  agent.Stop();
  // Metrics and probes read the agent, so they end before it does.
  runtime.Stop();
  return status;
}

int AgentMain(int argc, char** argv) {
  // An arena for each of gRPC's threads would hold 0.6 MiB more; none of them allocates much.
  ::mallopt(M_ARENA_MAX, 1);
  AgentAppOptions options;
  CLI::App app("Carries network plans to a node's training pods and reports its links.", kName);
  AddCommonFlags(app, options.common);
  AddAgentFlags(app, options.agent);
  app.add_option(
      "--prepare-folders-for", options.prepare_folders_for,
      "make the folders of --plan-dir and of unix: sockets, give them to the user of this "
      "number, and end: for an init container, so that the agent need not be root");
  app.set_version_flag("--version", VersionText());
  FinishFlags(app);
  CLI11_PARSE(app, argc, argv);
  const char* node = std::getenv("NODE_NAME");
  if (options.agent.nodes.empty() && options.agent.nodes_matching.empty() && node != nullptr) {
    options.agent.nodes.emplace_back(node);
  }
  return ExitCodeOf(kName, RunAgent(options));
}

}  // namespace yardmaster::app
