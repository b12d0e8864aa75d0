#include "pkg/extender/steps/host_taints.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/extender/facts/planning_snapshot.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;

// The value of the taint of a host whose GPUs one gang holds.
std::string TaintValueOf(const NamespacedName& key) {
  // A label value: 63 characters, and an alphanumeric one last.
  std::string value = StrCat(key.namespace_name, ".", key.name).substr(0, 63);
  while (!std::isalnum(static_cast<unsigned char>(value.back()))) value.pop_back();
  return value;
}

// Our taints on one Node: their values, empty where the Node should have none.
struct Wanted {
  std::string_view promised;
  std::string_view backup;
  std::string_view ValueOf(const std::string& key) const {
    return key == api::kPromisedKey ? promised : backup;
  }
};

bool IsOurs(const api::Taint& taint) {
  return taint.key == api::kPromisedKey ||
         (taint.key == api::kBackupKey && taint.value == api::kChosenBackupValue);
}

// Whether the Node has these taints and no others of ours, as nearly all have in nearly every pass.
bool IsRight(const api::Node& node, const Wanted& wanted) {
  int promised = 0, backup = 0;
  for (const api::Taint& taint : node.taints) {
    if (!IsOurs(taint)) continue;
    if (taint.value != wanted.ValueOf(taint.key)) return false;
    ++(taint.key == api::kPromisedKey ? promised : backup);
  }
  return promised == (wanted.promised.empty() ? 0 : 1) && backup == (wanted.backup.empty() ? 0 : 1);
}

// Removals first, from the end, so that indices hold.
json PatchOf(const api::Node& node, const Wanted& wanted) {
  json operations = json::array({{{"op", "test"},
                                  {"path", "/metadata/resourceVersion"},
                                  {"value", node.metadata.resource_version}}});
  std::set<std::string> there;
  for (std::size_t i = node.taints.size(); i-- > 0;) {
    const api::Taint& taint = node.taints[i];
    if (!IsOurs(taint)) continue;
    const std::string_view value = wanted.ValueOf(taint.key);
    const std::string path = StrCat("/spec/taints/", i);
    if (value.empty() || !there.insert(taint.key).second) {
      operations.push_back({{"op", "remove"}, {"path", path}});
    } else if (taint.value != value) {
      // "replace" fails on a taint without a value, which kubectl taint may have set.
      operations.push_back({{"op", "add"}, {"path", path + "/value"}, {"value", value}});
    }
  }
  bool first = node.taints.empty();
  for (const char* key : {api::kPromisedKey, api::kBackupKey}) {
    const std::string_view value = wanted.ValueOf(key);
    if (value.empty() || there.count(key) != 0) continue;
    const json taint = {{"key", key}, {"value", value}, {"effect", "NoSchedule"}};
    operations.push_back({{"op", "add"},
                          {"path", first ? "/spec/taints" : "/spec/taints/-"},
                          {"value", first ? json::array({taint}) : taint}});
    first = false;
  }
  return operations;
}

}  // namespace

HostTaints::DesiredTaints HostTaints::DesiredTaintsOf(const plan::Snapshot& snapshot, bool wanted,
                                                      const TaintNeeds* needs,
                                                      const Gangs& unread) {
  const std::vector<placement::HostState>& hosts = snapshot.cluster.hosts;
  DesiredTaints out{
      snapshot.places, std::vector<DesiredTaint>(hosts.size(), {kNoHolder, false}), {}};
  if (!wanted) return out;
  std::vector<std::int64_t> promised(hosts.size(), 0);  // GPUs, by HostId
  const auto promise = [&](fabric::HostId host, int to, std::int64_t gpus) {
    promised[host.index()] += gpus;
    int& holder = out.of_host[host.index()].holder;
    holder = holder == kNoHolder || holder == to ? to : kSeveral;
  };
  for (const plan::JobId id : snapshot.job_ids()) {
    const plan::JobState& job = snapshot.jobs[id.index()];
    out.values.push_back(job.assignment ? TaintValueOf(job.job.key) : "");
    if (!job.assignment) continue;
    int rank = 0;
    for (fabric::HostId host : job.assignment->host_of_rank) {
      const int gpus = job.job.HostGpusOf(rank++);
      if (host.valid()) promise(host, id.value, gpus);
    }
    for (const auto& [host, gpus] : MoreGpusNext(job)) promise(host, id.value, gpus);
  }
  for (const auto& gang : unread) {
    const auto to = static_cast<int>(out.values.size());
    out.values.push_back(TaintValueOf(KeyOf(gang->metadata)));
    for (const api::AssignmentEntry& slot : gang->status.assignments) {
      const fabric::HostId host = snapshot.places->FindHost(slot.host);
      if (host.valid()) promise(host, to, std::max<int>(1, hosts[host.index()].gpus));
    }
  }
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    DesiredTaint& desired = out.of_host[h];
    const TaintNeed need = needs == nullptr ? TaintNeed::kBoth : (*needs)[h];
    desired.backup = hosts[h].backup && need != TaintNeed::kNone;
    // Whether all devices of another kind are promised is not known here. A Node that shows no
    // GPUs, or has no place at present, may get them back.
    const bool all = promised[h] != 0 && promised[h] >= hosts[h].gpus;
    const bool tainted =
        (need == TaintNeed::kBoth && all) || (need == TaintNeed::kOpen && promised[h] != 0);
    if (!tainted) desired.holder = kNoHolder;
  }
  return out;
}

// `host`: of the Node; invalid: it has none.
void HostTaints::Compare(const api::Node& node, fabric::HostId host, TaintChanges& out) const {
  Wanted taints;
  if (host.valid()) {
    const DesiredTaint& desired = desired_.of_host[host.index()];
    if (desired.holder != kNoHolder) {
      taints.promised =
          desired.holder == kSeveral
              ? "several"
              : std::string_view(desired_.values[static_cast<std::size_t>(desired.holder)]);
    }
    if (desired.backup && !node.backup()) taints.backup = api::kChosenBackupValue;
  }
  if (node.metadata.deleted_ms || IsRight(node, taints)) return;
  out.changes.push_back({node.metadata.name, PatchOf(node, taints)});
}

void HostTaints::CompareAll(const state::ObjectTable<api::Node>& nodes, TaintChanges& out) {
  promised_ = 0;
  // Nodes and hosts both ascend by name.
  const fabric::Places& places = *desired_.places;
  auto host = places.by_name().begin();
  const auto end = places.by_name().end();
  for (const auto& node : nodes) {
    while (host != end && places.name(*host) < node->metadata.name) ++host;
    const bool has_host = host != end && places.name(*host) == node->metadata.name;
    if (has_host && IsTainted(*host)) ++promised_;
    Compare(*node, has_host ? *host : fabric::HostId(), out);
  }
}

// False, and nothing found, where all have to be compared: hosts or gangs are others, a Node has
// come or gone, or so many have changed that one walk over all costs less.
bool HostTaints::CompareChanged(const DesiredTaints& before,
                                const state::ObjectTable<api::Node>& nodes, TaintChanges& out) {
  const std::size_t few = std::max<std::size_t>(8, nodes.size() / 16);
  if (before.places != desired_.places || before.values != desired_.values) return false;
  std::vector<std::shared_ptr<const api::Node>> suspects;
  bool same_nodes = true;
  state::ObjectTable<api::Node>::Differences(nodes_, nodes, [&](const auto& a, const auto& b) {
    same_nodes &= a != nullptr && b != nullptr;
    suspects.push_back(b);
  });
  if (!same_nodes || suspects.size() > few) return false;
  const fabric::Places& places = *desired_.places;
  for (fabric::HostId host : places.hosts()) {
    const DesiredTaint &was = before.of_host[host.index()], &is = desired_.of_host[host.index()];
    if (was == is) continue;
    std::shared_ptr<const api::Node> node = nodes.Find({"", places.name(host)});
    if (node == nullptr) continue;
    promised_ += (is.holder != kNoHolder ? 1 : 0) - (was.holder != kNoHolder ? 1 : 0);
    suspects.push_back(std::move(node));
  }
  std::sort(suspects.begin(), suspects.end(),
            [](const auto& a, const auto& b) { return a->metadata.name < b->metadata.name; });
  suspects.erase(std::unique(suspects.begin(), suspects.end()), suspects.end());
  for (const auto& node : suspects) Compare(*node, places.FindHost(node->metadata.name), out);
  return true;
}

TaintChanges HostTaints::Changes(const plan::Snapshot& snapshot, const state::ClusterState& cluster,
                                 bool wanted, const TaintNeeds* needs, const Gangs& unread) {
  TaintChanges out;
  const DesiredTaints before =
      std::exchange(desired_, DesiredTaintsOf(snapshot, wanted, needs, unread));
  // Whatever throws: the next call compares all.
  const bool was_right = std::exchange(all_right_, false);
  if (!was_right || !CompareChanged(before, cluster.nodes, out)) CompareAll(cluster.nodes, out);
  nodes_ = cluster.nodes;
  all_right_ = out.changes.empty();
  out.promised = promised_;
  return out;
}

}  // namespace yardmaster::extender
