#include "pkg/operator/hosts/host_marker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/hosts/node_observer.h"
#include "pkg/operator/write_target.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::op {

namespace {

// By host.
std::map<std::string, HostHistory> Histories(const state::ClusterState& cluster) {
  std::map<std::string, HostHistory> out;
  for (const auto& node : cluster.nodes) {
    HostHistory& history = out[node->metadata.name];
    history.segment = SegmentOf(*node, cluster);
    // A record that cannot be read is written again.
    const auto text = api::Find(node->metadata.annotations, api::kHostRecordAnnotation);
    if (text) history.record = api::DecodeHostRecord(*text).value_or(api::HostRecord{});
  }
  for (const auto& job : cluster.jobs) {
    for (const api::Incident& incident : job->status.recovery.incidents) {
      if (!incident.blames_host) continue;
      const auto host = out.find(incident.host);
      if (host == out.end()) continue;
      host->second.reported.push_back(
          {StrCat(job->metadata.namespace_name, "/", job->metadata.name), job->metadata.uid,
           incident.attempt, std::max(0, incident.first_rank), incident.exit_code,
           incident.start_ms, incident.cause == api::IncidentCause::kSlowHost});
    }
  }
  return out;
}

// Hosts with a pod that is being deleted. Empty where it does not matter: no Node has our fence.
std::set<std::string> HostsInDeletion(const state::ClusterState& cluster) {
  std::set<std::string> out;
  const bool fenced = std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                                  [](const auto& node) { return MarksOf(*node).out_of_service; });
  if (!fenced) return out;
  for (const auto& pod : cluster.pods) {
    if (pod->metadata.deleted_ms && !pod->node_name.empty()) out.insert(pod->node_name);
  }
  return out;
}

std::string FailuresText(const api::HostRecord& record) {
  if (record.failures.empty()) return "workers failed here";
  const api::HostFailure& last = record.failures.back();
  const bool slow = std::any_of(record.failures.begin(), record.failures.end(),
                                [](const api::HostFailure& failure) { return failure.slow; });
  return StrCat(slow ? "workers failed or were slow " : "workers failed ",
                Count(static_cast<std::int64_t>(record.failures.size()), "time"),
                " here, last rank ", last.rank, " of TrainingJob ", last.job);
}

}  // namespace

bool HostMarker::IsFenced(const std::string& host) const {
  if (options_.fence == FencePolicy::kNone) return true;
  const auto node = cache_.FindNode(host);
  return node == nullptr || IsOutOfService(*node);
}

absl::Status HostMarker::Write(const api::Node& node, const nlohmann::json& patch) {
  auto written = client_.Patch({kube::Nodes(), "", node.metadata.name, ""}, kube::JsonPatch(patch),
                               {kFieldManager});
  if (absl::IsNotFound(written.status())) return absl::OkStatus();
  YM_RETURN_IF_ERROR(written.status());
  cache_.Assume(state::Kind::kNode, *written);
  return absl::OkStatus();
}

std::int64_t HostMarker::FenceWaitMs(std::int64_t not_ready_ms) const {
  if (options_.fence != FencePolicy::kOutOfService) return 0;
  return std::max<std::int64_t>(0, options_.fence_after_ms - not_ready_ms);
}

absl::Status HostMarker::Fence(const std::string& host) {
  const auto node = cache_.FindNode(host);
  if (options_.fence != FencePolicy::kOutOfService || node == nullptr) return absl::OkStatus();
  if (node->ready.value_or(false)) return absl::OkStatus();
  NodeMarks marks = MarksOf(*node);
  const NodeMarks before = marks;
  marks.out_of_service = true;
  const auto patch = PatchOf(*node, marks);
  if (!patch) return absl::OkStatus();
  YM_RETURN_IF_ERROR(Write(*node, *patch));
  Announce(*node, before, marks, "");
  return absl::OkStatus();
}

void HostMarker::Announce(const api::Node& node, const NodeMarks& before, const NodeMarks& after,
                          const std::string& why) {
  const auto tell = [&](bool warning, const char* reason, std::string note) {
    notify_({node.metadata.name, node.metadata.uid, warning, reason, std::move(note)});
  };
  if (!after.quarantined.empty() && after.quarantined != before.quarantined) {
    tell(true, "HostQuarantined", StrCat("no worker is placed here ", why));
  } else if (after.quarantined.empty() && !before.quarantined.empty()) {
    tell(false, "HostReleased", "the quarantine has ended; workers may be placed here again");
  }
  if (after.out_of_service && !before.out_of_service) {
    tell(true, "HostFenced",
         StrCat("taint ", api::kOutOfServiceKey,
                " set: the host is lost and its pods are removed by force"));
  } else if (!after.out_of_service && before.out_of_service) {
    tell(false, "HostUnfenced", StrCat("taint ", api::kOutOfServiceKey, " removed: Node is Ready"));
  }
}

std::map<std::string, std::string> HostMarker::FaultyHosts(
    const state::ClusterState& cluster) const {
  std::map<std::string, std::string> out;
  const auto fabric = state::UsedFabric(cluster.fabrics);
  const int nic_ports = fabric == nullptr ? 0 : fabric->spec.nic_ports;
  for (const auto& node : cluster.nodes) {
    for (const NodeFault& fault : FaultsOf(*node, nic_ports, options_.faults)) {
      if (fault.action >= FaultAction::kDrain) out.emplace(node->metadata.name, fault.name);
    }
  }
  const auto all = static_cast<double>(cluster.nodes.size());
  const auto faulty = static_cast<double>(out.size());
  if (faulty > options_.fault_hosts && faulty > options_.fault_share * all) out.clear();
  return out;
}

absl::Status HostMarker::Mark(const api::Node& node, const api::HostRecord& record,
                              const std::string& fault, bool in_deletion, std::int64_t now_ms,
                              Report& report) {
  const NodeMarks before = MarksOf(node);
  NodeMarks wanted;
  std::string why;
  if (record.until_ms > now_ms) {
    wanted.quarantined = kWorkerFailures;
    why = StrCat("until ", FormatTime(record.until_ms), ": ", FailuresText(record));
    report.Again(record.until_ms - now_ms);
  } else if (!fault.empty()) {
    wanted.quarantined = kNodeFault;
    why = StrCat("while it has ", fault);
  }
  if (!record.empty()) wanted.record = api::EncodeHostRecord(record);
  wanted.out_of_service = before.out_of_service && (!node.ready.value_or(false) || in_deletion);
  report.quarantined += wanted.quarantined.empty() ? 0 : 1;
  report.fenced += wanted.out_of_service ? 1 : 0;
  if (node.metadata.deleted_ms) return absl::OkStatus();
  const auto patch = PatchOf(node, wanted);
  if (!patch) return absl::OkStatus();
  YM_RETURN_IF_ERROR(Write(node, *patch));
  ++report.done;
  Announce(node, before, wanted, why);
  return absl::OkStatus();
}

HostMarker::Report HostMarker::RunOnce(std::int64_t now_ms) {
  Report report;
  const state::ClusterState cluster = cache_.Take();
  const auto histories = Histories(cluster);
  const auto records = NextRecords(histories, options_.quarantine, now_ms);
  const std::set<std::string> in_deletion = HostsInDeletion(cluster);
  const std::map<std::string, std::string> faulty = FaultyHosts(cluster);
  for (const auto& node : cluster.nodes) {
    const std::string& name = node->metadata.name;
    const auto fault = faulty.find(name);
    report.Fail(name, Contain([&] {
                  return Mark(*node, records.at(name), fault == faulty.end() ? "" : fault->second,
                              in_deletion.count(name) != 0, now_ms, report);
                }));
  }
  return report;
}

}  // namespace yardmaster::op
