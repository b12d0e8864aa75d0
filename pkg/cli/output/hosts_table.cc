#include "pkg/cli/output/hosts_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "pkg/api/host_record.h"
#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/cli/output/node_names.h"
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
                 last.exit_code ? StrCat(" with exit code ", *last.exit_code) : std::string(),
                 last.slow ? ", which was slow" : "");
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
  if (host.unavailable == Unavailability::kDomainLost) return {"DomainLost", TaintKeys(*node)};
  if (IsQuarantined(*node)) return {"Quarantined", failures};
  if (host.unavailable == Unavailability::kCordoned) return {"Cordoned", failures};
  if (host.unavailable != Unavailability::kNo) return {"Tainted", TaintKeys(*node)};
  if (host.degraded) {
    std::vector<std::string> why;
    const auto add = [&](const char* annotation, const char* what) {
      const auto ports = api::Find(node->metadata.annotations, annotation);
      if (ports && !ports->empty()) why.push_back(StrCat(what, ": ", *ports));
    };
    add(api::kDownPortsAnnotation, "ports down");
    add(api::kLossyPortsAnnotation, "lossy ports");
    return {"Degraded", Join(why, "; ")};
  }
  if (host.free_gpus == 0 && host.gpus > 0) return {"Held", failures};
  return {host.backup ? "Backup" : "Free", failures};
}

constexpr int kDomainColumn = 3;  // after SEGMENT

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
    if (places.has_domains()) {
      rows.back().insert(rows.back().begin() + kDomainColumn, places.name(places.domain_of(host)));
    }
  }
  if (places.has_domains()) rows[0].insert(rows[0].begin() + kDomainColumn, "DOMAIN");
  return rows;
}

Table GroupedHosts(const Table& hosts) {
  std::map<std::vector<std::string>, std::size_t> group_of;  // by every cell but the name
  std::vector<std::vector<std::string>> names;
  Table rows;
  for (std::size_t r = 1; r < hosts.size(); ++r) {
    const std::vector<std::string> rest(hosts[r].begin() + 1, hosts[r].end());
    const auto [at, is_new] = group_of.emplace(rest, names.size());
    if (is_new) {
      names.emplace_back();
      rows.push_back(rest);
    }
    names[at->second].push_back(hosts[r][0]);
  }
  Table out = {hosts[0]};
  out[0].insert(out[0].begin() + 1, "COUNT");
  for (std::size_t g = 0; g < rows.size(); ++g) {
    std::vector<std::string> row = {HostNames(names[g]), StrCat(names[g].size())};
    row.insert(row.end(), rows[g].begin(), rows[g].end());
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace yardmaster::cli
