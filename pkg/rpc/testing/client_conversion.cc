#include "pkg/rpc/testing/client_conversion.h"

namespace yardmaster::rpc {

namespace {

using Proto = agent::v1::PodPlan;

PlanState FromProto(Proto::State state) {
  switch (state) {
    case Proto::AWAITING:
      return PlanState::kAwaiting;
    case Proto::SYNCED:
      return PlanState::kSynced;
    case Proto::STALE:
      return PlanState::kStale;
    case Proto::INVALID:
      return PlanState::kInvalid;
    default:
      return PlanState::kSyncing;
  }
}

PodPlanStatus FromProto(const Proto& from) {
  PodPlanStatus to;
  to.pod_namespace = from.pod_namespace();
  to.pod_name = from.pod_name();
  to.pod_uid = from.pod_uid();
  to.node = from.node();
  to.gang = from.gang();
  to.rank = from.rank();
  if (from.has_level()) to.level = from.level();
  to.traffic_class = from.traffic_class();
  to.peers = from.peers();
  to.plan_file = from.plan_file();
  to.state = FromProto(from.state());
  to.last_error = from.last_error();
  return to;
}

}  // namespace

AgentStatus FromProto(const agent::v1::StatusResponse& response) {
  AgentStatus status;
  status.nodes.assign(response.nodes().begin(), response.nodes().end());
  for (const Proto& pod : response.pods()) status.pods.push_back(FromProto(pod));
  for (const agent::v1::Link& link : response.links()) {
    status.links.push_back({link.node(), link.rail(), link.port(), link.device(), link.up()});
  }
  return status;
}

agent::v1::IterationReport ToProto(const IterationReport& report) {
  const api::ProfileReport& means = report.means;
  agent::v1::IterationReport out;
  out.set_pod_uid(report.pod_uid);
  out.set_iterations(means.samples);
  if (means.iteration_seconds) out.set_iteration_seconds(*means.iteration_seconds);
  if (means.compute_seconds) out.set_compute_seconds(*means.compute_seconds);
  if (means.communication_seconds) out.set_communication_seconds(*means.communication_seconds);
  if (means.communication_start) out.set_communication_start(*means.communication_start);
  if (means.flop) out.set_flop(*means.flop);
  for (double bytes : means.sent_bytes) out.add_sent_bytes(bytes);
  return out;
}

}  // namespace yardmaster::rpc
