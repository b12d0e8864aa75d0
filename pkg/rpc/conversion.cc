#include "pkg/rpc/conversion.h"

#include <algorithm>
#include <tuple>

#include "pkg/base/strings.h"

namespace yardmaster::rpc {

namespace {

using Proto = agent::v1::PodPlan;

constexpr int kMaxRail = 255;

Proto::State ToProto(PlanState state) {
  switch (state) {
    case PlanState::kAwaiting:
      return Proto::AWAITING;
    case PlanState::kSyncing:
      return Proto::SYNCING;
    case PlanState::kSynced:
      return Proto::SYNCED;
    case PlanState::kStale:
      return Proto::STALE;
    case PlanState::kInvalid:
      return Proto::INVALID;
  }
  return Proto::STATE_UNSPECIFIED;
}

void Fill(const PodPlanStatus& from, Proto* to) {
  to->set_pod_namespace(from.pod_namespace);
  to->set_pod_name(from.pod_name);
  to->set_pod_uid(from.pod_uid);
  to->set_node(from.node);
  to->set_gang(from.gang);
  to->set_rank(from.rank);
  if (from.level.has_value()) to->set_level(*from.level);
  to->set_traffic_class(from.traffic_class);
  to->set_peers(from.peers);
  to->set_plan_file(from.plan_file);
  to->set_state(ToProto(from.state));
  to->set_last_error(from.last_error);
}

}  // namespace

agent::v1::StatusResponse ToProto(const AgentStatus& status) {
  agent::v1::StatusResponse response;
  for (const std::string& node : status.nodes) response.add_nodes(node);
  for (const PodPlanStatus& pod : status.pods) Fill(pod, response.add_pods());
  for (const LinkStatus& link : status.links) {
    agent::v1::Link* to = response.add_links();
    to->set_node(link.node);
    to->set_rail(link.rail);
    to->set_port(link.port);
    to->set_device(link.device);
    to->set_up(link.up);
  }
  return response;
}

absl::StatusOr<std::vector<api::NicPortKey>> FromProto(const reports::v1::NodeReport& report) {
  std::vector<api::NicPortKey> down;
  for (const reports::v1::NicPort& port : report.down_ports()) {
    if (port.rail() < 0 || port.rail() > kMaxRail || port.port() < 0 || port.port() > kMaxRail) {
      return absl::InvalidArgumentError(
          StrCat("no NIC has rail ", port.rail(), " and port ", port.port()));
    }
    down.push_back({port.rail(), port.port()});
  }
  std::sort(down.begin(), down.end());
  down.erase(std::unique(down.begin(), down.end()), down.end());
  return down;
}

AgentStatus Filtered(AgentStatus status, const StatusFilter& filter) {
  const auto other_node = [&](const std::string& node) {
    return !filter.node.empty() && node != filter.node;
  };
  std::erase_if(status.nodes, other_node);
  std::erase_if(status.pods, [&](const PodPlanStatus& pod) {
    return other_node(pod.node) || (!filter.pod_uid.empty() && pod.pod_uid != filter.pod_uid);
  });
  std::erase_if(status.links, [&](const LinkStatus& link) { return other_node(link.node); });

  const auto pod_key = [](const PodPlanStatus& pod) {
    return std::tie(pod.node, pod.pod_namespace, pod.pod_name, pod.pod_uid);
  };
  const auto link_key = [](const LinkStatus& link) {
    return std::tie(link.node, link.rail, link.port, link.device);
  };
  std::sort(status.nodes.begin(), status.nodes.end());
  std::sort(status.pods.begin(), status.pods.end(),
            [&](const auto& a, const auto& b) { return pod_key(a) < pod_key(b); });
  std::sort(status.links.begin(), status.links.end(),
            [&](const auto& a, const auto& b) { return link_key(a) < link_key(b); });
  return status;
}

IterationReport FromProto(const agent::v1::IterationReport& report) {
  IterationReport out;
  out.pod_uid = report.pod_uid();
  out.means.samples = report.iterations();
  if (report.has_iteration_seconds()) out.means.iteration_seconds = report.iteration_seconds();
  if (report.has_compute_seconds()) out.means.compute_seconds = report.compute_seconds();
  if (report.has_communication_seconds()) {
    out.means.communication_seconds = report.communication_seconds();
  }
  if (report.has_communication_start()) {
    out.means.communication_start = report.communication_start();
  }
  if (report.has_flop()) out.means.flop = report.flop();
  out.means.sent_bytes.assign(report.sent_bytes().begin(), report.sent_bytes().end());
  return out;
}

}  // namespace yardmaster::rpc
