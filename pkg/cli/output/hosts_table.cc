#include "pkg/cli/output/hosts_table.h"

#include <algorithm>
#include <map>

#include "pkg/api/host_record.h"
#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::cli {

namespace {

struct Standing {
  std::string state;
  std::string reason;
};

std::string TaintKeys(const api::Node& node) {
  std::vector<std::string> keys;
  for (const api::Taint& taint : node.taints) {
    if (taint.key != api::kPromisedKey && taint.key != api::kBackupKey) keys.push_back(taint.key);
  }
  return Join(keys, ",");
}

bool IsQuarantined(const api::Node& node) {
  return std::any_of(node.taints.begin(), node.taints.end(),
                     [](const api::Taint& taint) { return taint.key == api::kQuarantinedKey; });
}

// "3 failures, last rank 5 of team/a with exit code 134; until 2026-01-01T00:30:00Z"; empty: none.
std::string Failures(const api::Node& node, std::int64_t now_ms) {
  const auto text = api::Find(node.metadata.annotations, api::kHostRecordAnnotation);
  if (!text) return "";
  const auto record = api::DecodeHostRecord(*text);
  if (!record.ok()) return StrCat(api::kHostRecordAnnotation, " cannot be read");
  std::string out;
  if (!record->failures.empty()) {
    const api::HostFailure& last = record->failures.back();
    out = StrCat(Count(static_cast<std::int64_t>(record->failures.size()), "failure"),
                 ", last rank ", last.rank, " of ", last.job,
                 last.exit_code ? StrCat(" with exit code ", *last.exit_code) : std::string());
  }
  if (record->until_ms > now_ms) {
    out += StrCat(out.empty() ? "" : "; ", "until ", FormatTime(record->until_ms));
  }
  return out;
}

Standing StandingOf(const api::Node* node, const placement::HostState& host, std::int64_t now_ms) {
  using placement::Unavailability;
  if (node == nullptr) return {"NotReady", "its Node is gone"};
  const std::string failures = Failures(*node, now_ms);
  if (host.unavailable == Unavailability::kNotReady) return {"NotReady", TaintKeys(*node)};
  if (host.unavailable == Unavailability::kSegmentLost) return {"SegmentLost", TaintKeys(*node)};
  if (IsQuarantined(*node)) return {"Quarantined", failures};
  if (host.unavailable == Unavailability::kCordoned) return {"Cordoned", failures};
  if (host.unavailable != Unavailability::kNo) return {"Tainted", TaintKeys(*node)};
  if (host.degraded) {
    const auto ports = api::Find(node->metadata.annotations, api::kDownPortsAnnotation);
    return {"Degraded", StrCat("ports down: ", ports.value_or(""))};
  }
  const bool held = host.free_gpus == 0 && host.gpus > 0;
  return {held ? "Held" : host.backup ? "Backup" : "Free", failures};
}

}  // namespace

Table HostsTable(const state::ClusterState& cluster, std::int64_t now_ms) {
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  const fabric::Places& places = *snapshot.places;
  Table rows = {{"HOST", "FABRIC POD", "SEGMENT", "GPUS", "FREE", "STATE", "REASON"}};
  for (const fabric::HostId host : places.by_name()) {
    const placement::HostState& state = snapshot.cluster.hosts[host.index()];
    const std::string& name = places.name(host);
    const auto node = cluster.nodes.Find({"", name});
    const Standing standing = StandingOf(node.get(), state, now_ms);
    const fabric::SegmentId segment = places.segment_of(host);
    rows.push_back({name, places.name(places.fabric_pod_of(segment)), places.name(segment),
                    StrCat(state.gpus), StrCat(state.free_gpus), standing.state, standing.reason});
  }
  return rows;
}

}  // namespace yardmaster::cli
