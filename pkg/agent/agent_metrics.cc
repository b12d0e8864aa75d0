#include "pkg/agent/agent_metrics.h"

#include <array>
#include <utility>

#include "pkg/agent/plans/plan_file.h"

namespace yardmaster::agent {

namespace {

using metrics::Sample;
using rpc::PlanState;

constexpr std::array kStates = {PlanState::kAwaiting, PlanState::kSyncing, PlanState::kSynced,
                                PlanState::kStale, PlanState::kInvalid};

std::vector<Sample> PodsByState(const PlanReport& report) {
  std::vector<Sample> samples;
  for (PlanState state : kStates) {
    Sample sample;
    sample.labels["state"] = NameOf(state);
    for (const rpc::PodPlanStatus& pod : report.pods) sample.value += pod.state == state ? 1 : 0;
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<Sample> Ports(const LinkReporter* links) {
  Sample up{{{"link", "up"}}, 0};
  Sample down{{{"link", "down"}}, 0};
  if (links != nullptr) {
    for (const rpc::LinkStatus& link : links->links()) (link.up ? up : down).value += 1;
  }
  return {up, down};
}

std::vector<Sample> PortSpeeds(const LinkReporter* links) {
  std::vector<Sample> samples;
  if (links == nullptr) return samples;
  for (const LinkReporter::PortReading& port : links->ReadCounters()) {
    if (!port.counters.speed_gbps) continue;
    samples.push_back({{{"node", port.node}, {"device", port.device}}, *port.counters.speed_gbps});
  }
  return samples;
}

std::vector<Sample> PortEvents(const LinkReporter* links) {
  std::vector<Sample> samples;
  if (links == nullptr) return samples;
  for (const LinkReporter::PortReading& port : links->ReadCounters()) {
    for (const auto& [event, count] : port.counters.events) {
      samples.push_back({{{"node", port.node}, {"device", port.device}, {"event", event}},
                         static_cast<double>(count)});
    }
  }
  return samples;
}

std::vector<Sample> PortLoss(const LinkReporter* links) {
  std::vector<Sample> samples;
  if (links == nullptr) return samples;
  for (const LinkReporter::PortLoss& port : links->lossy()) {
    samples.push_back({{{"node", port.node}, {"device", port.device}}, port.per_million / 1e6});
  }
  return samples;
}

const char* ReasonOf(NoticeKind kind) {
  switch (kind) {
    case NoticeKind::kStale:
      return "stale";
    case NoticeKind::kInvalid:
      return "invalid";
    case NoticeKind::kWriteFailed:
      return "write-failed";
    case NoticeKind::kSynced:
      break;
  }
  return "";
}

}  // namespace

void AddAgentMetrics(metrics::Registry& registry,
                     std::function<std::shared_ptr<const PlanReport>()> report,
                     std::function<const LinkReporter*()> links) {
  registry.AddGaugeSource("yardmaster_agent_pods", "Pods with a network plan, by its state.",
                          [report] { return PodsByState(*report()); });
  registry.AddCounterSource("yardmaster_agent_plan_file_writes_total", "Plan files written.",
                            [report] { return report()->writes; });
  registry.AddCounterSource("yardmaster_agent_plan_file_failures_total",
                            "Plan files that could not be written or removed.",
                            [report] { return report()->failures; });
  registry.AddGaugeSource("yardmaster_agent_nic_ports", "NIC ports, by link state.",
                          [links] { return Ports(links()); });
  registry.AddGaugeSource("yardmaster_agent_nic_port_gbps",
                          "Speed of the NIC ports, as the kernel says it.",
                          [links] { return PortSpeeds(links()); });
  registry.AddCounterSource("yardmaster_agent_nic_port_events_total",
                            "What the kernel counts on the NIC ports: errors, waiting, congestion.",
                            [links] { return PortEvents(links()); });
  registry.AddGaugeSource("yardmaster_agent_nic_port_loss",
                          "NIC ports that lose packets: the share of frames that arrived damaged.",
                          [links] { return PortLoss(links()); });
  registry.AddCounterSource("yardmaster_agent_node_patches_total",
                            "Changes of the nodes' annotations down-ports and lossy-ports.",
                            [links] { return links() == nullptr ? 0 : links()->writes(); });
  registry.AddCounterSource("yardmaster_agent_link_report_failures_total",
                            "Link states that could not be mapped to ports or written to a node.",
                            [links] { return links() == nullptr ? 0 : links()->failures(); });
  for (NoticeKind kind : {NoticeKind::kStale, NoticeKind::kInvalid, NoticeKind::kWriteFailed}) {
    registry.GetCounter("yardmaster_agent_plan_problems_total",
                        "Network plans that gave way to default behaviour, by reason.",
                        {{"reason", ReasonOf(kind)}});
  }
}

void AddReportMetrics(metrics::Registry& registry, const ProfileCollector& profiles,
                      const ReportRelay& relay) {
  registry.AddCounterSource(
      "yardmaster_agent_iteration_reports_total", "Reports of training processes, by what became.",
      [&profiles] {
        return std::vector<Sample>{
            {{{"result", "taken"}}, static_cast<double>(profiles.taken())},
            {{{"result", "refused"}}, static_cast<double>(profiles.refused())}};
      });
  registry.AddCounterSource("yardmaster_agent_profile_patches_total",
                            "Profile annotations written on pods.",
                            [&profiles] { return profiles.writes(); });
  registry.AddCounterSource("yardmaster_agent_report_patches_total",
                            "Relayed reports written on nodes.",
                            [&relay] { return relay.writes(); });
}

void AddStreamMetrics(metrics::Registry& registry, const rpc::ReportStream& stream) {
  registry.AddGaugeSource("yardmaster_agent_operator_stream",
                          "1: the operator has confirmed a report on the present stream.",
                          [&stream] { return stream.stats().connected ? 1.0 : 0.0; });
  registry.AddCounterSource("yardmaster_agent_operator_stream_breaks_total",
                            "Streams to the operator, and tries to make one, that ended.",
                            [&stream] { return stream.stats().broken; });
}

void CountNotice(metrics::Registry& registry, NoticeKind kind) {
  if (kind == NoticeKind::kSynced) return;
  registry
      .GetCounter("yardmaster_agent_plan_problems_total",
                  "Network plans that gave way to default behaviour, by reason.",
                  {{"reason", ReasonOf(kind)}})
      .Increment();
}

void AddObserverMetrics(metrics::Registry& registry,
                        std::function<const HostJobObserver*()> observer) {
  const auto shims = [observer] {
    const HostJobObserver* present = observer();
    return present == nullptr ? ShimSummary() : present->shims();
  };
  registry.AddCounterSource("yardmaster_agent_measured_profiles_total",
                            "Profiles measured from the NICs' byte counters.", [observer] {
                              const HostJobObserver* present = observer();
                              return present == nullptr ? 0 : present->measured();
                            });
  registry.AddGaugeSource(
      "yardmaster_agent_connections",
      "Connections of the pods' shims: with their planned port, without it, without a plan.",
      [shims] {
        const ShimSummary now = shims();
        return std::vector<Sample>{{{{"state", "steered"}}, static_cast<double>(now.steered)},
                                   {{{"state", "unsteered"}}, static_cast<double>(now.unsteered)},
                                   {{{"state", "unplanned"}}, static_cast<double>(now.unplanned)}};
      });
  registry.AddGaugeSource("yardmaster_agent_kept_class_connections",
                          "Connections whose traffic class is their container's own choice.",
                          [shims] { return shims().kept_class; });
  registry.AddGaugeSource("yardmaster_agent_unsteered_reasons",
                          "Connections by why the shim did not do something.",
                          [shims] { return metrics::SamplesBy("reason", shims().reasons); });
}

}  // namespace yardmaster::agent
