#include "pkg/extender/host_taints.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;

// What a host's taint of promised ones should say; empty: it should have none.
std::vector<std::string> PromisedValues(const plan::Snapshot& snapshot) {
  constexpr int kNobody = -1;
  constexpr int kSeveral = -2;
  const std::size_t hosts = snapshot.cluster.hosts.size();
  std::vector<std::int64_t> promised(hosts, 0);
  std::vector<int> holder(hosts, kNobody);
  for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
    const plan::JobState& job = snapshot.jobs[j];
    if (!job.assignment) continue;
    for (fabric::HostId host : job.assignment->host_of_rank) {
      if (!host.valid()) continue;
      promised[host.index()] += job.job.gpus_per_worker;
      int& of = holder[host.index()];
      of = of == kNobody || of == static_cast<int>(j) ? static_cast<int>(j) : kSeveral;
    }
  }
  std::vector<std::string> values(hosts);
  for (std::size_t h = 0; h < hosts; ++h) {
    if (holder[h] == kNobody || promised[h] < snapshot.cluster.hosts[h].gpus) continue;
    if (holder[h] == kSeveral) {
      values[h] = "several";
      continue;
    }
    const workload::JobKey& key = snapshot.jobs[static_cast<std::size_t>(holder[h])].job.key;
    // A label value: 63 characters, and an alphanumeric one last.
    std::string value = StrCat(key.namespace_name, ".", key.name).substr(0, 63);
    while (!std::isalnum(static_cast<unsigned char>(value.back()))) value.pop_back();
    values[h] = std::move(value);
  }
  return values;
}

// One of our taints on one Node.
struct OurTaint {
  const char* key;
  std::string value;  // empty: the Node should not have it
};

bool IsOurs(const api::Taint& taint) {
  return taint.key == api::kPromisedKey ||
         (taint.key == api::kBackupKey && taint.value == api::kChosenBackupValue);
}

// Empty when the Node is right. Removals first, from the end, so that indices hold.
json PatchOf(const api::Node& node, std::vector<OurTaint> wanted) {
  json operations = json::array();
  for (std::size_t i = node.taints.size(); i-- > 0;) {
    const api::Taint& taint = node.taints[i];
    if (!IsOurs(taint)) continue;
    const auto same = std::find_if(wanted.begin(), wanted.end(), [&](const OurTaint& w) {
      return taint.key == w.key && !w.value.empty();
    });
    const std::string path = StrCat("/spec/taints/", i);
    if (same == wanted.end()) {
      operations.push_back({{"op", "remove"}, {"path", path}});
      continue;
    }
    if (taint.value != same->value) {
      operations.push_back({{"op", "replace"}, {"path", path + "/value"}, {"value", same->value}});
    }
    same->value.clear();
  }
  bool first = node.taints.empty();
  for (const OurTaint& add : wanted) {
    if (add.value.empty()) continue;
    const json taint = {{"key", add.key}, {"value", add.value}, {"effect", "NoSchedule"}};
    operations.push_back({{"op", "add"},
                          {"path", first ? "/spec/taints" : "/spec/taints/-"},
                          {"value", first ? json::array({taint}) : taint}});
    first = false;
  }
  if (operations.empty()) return operations;
  operations.insert(operations.begin(), json{{"op", "test"},
                                             {"path", "/metadata/resourceVersion"},
                                             {"value", node.metadata.resource_version}});
  return operations;
}

}  // namespace

TaintChanges HostTaintChanges(const plan::Snapshot& snapshot, const state::World& world,
                              bool wanted) {
  TaintChanges out;
  const std::vector<std::string> promised = PromisedValues(snapshot);
  for (const auto& node : world.nodes) {
    const fabric::HostId host = snapshot.places->FindHost(node->metadata.name);
    std::vector<OurTaint> taints;
    if (wanted && host.valid()) {
      const bool chosen = snapshot.cluster.hosts[host.index()].backup && !node->backup();
      taints = {{api::kPromisedKey, promised[host.index()]},
                {api::kBackupKey, chosen ? api::kChosenBackupValue : ""}};
      if (!promised[host.index()].empty()) ++out.promised;
    }
    if (node->metadata.deleted_ms) continue;
    json patch = PatchOf(*node, std::move(taints));
    if (!patch.empty()) out.changes.push_back({node->metadata.name, std::move(patch)});
  }
  return out;
}

}  // namespace yardmaster::extender
