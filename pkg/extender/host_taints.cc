#include "pkg/extender/host_taints.h"

#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;

// The value of the taint of a host whose GPUs one gang holds.
std::string ValueOf(const NamespacedName& key) {
  // A label value: 63 characters, and an alphanumeric one last.
  std::string value = StrCat(key.namespace_name, ".", key.name).substr(0, 63);
  while (!std::isalnum(static_cast<unsigned char>(value.back()))) value.pop_back();
  return value;
}

// What the taints of promised hosts should say.
class Promises {
 public:
  explicit Promises(const plan::Snapshot& snapshot)
      : snapshot_(snapshot),
        promised_(snapshot.cluster.hosts.size(), 0),
        holder_(snapshot.cluster.hosts.size(), kNobody) {
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
      const plan::JobState& job = snapshot.jobs[j];
      values_.push_back(job.assignment ? ValueOf(job.job.key) : "");
      if (!job.assignment) continue;
      int rank = 0;
      for (fabric::HostId host : job.assignment->host_of_rank) {
        const int gpus = job.job.HostGpusOf(rank++);
        if (!host.valid()) continue;
        promised_[host.index()] += gpus;
        int& of = holder_[host.index()];
        of = of == kNobody || of == static_cast<int>(j) ? static_cast<int>(j) : kSeveral;
      }
    }
  }
  // Empty: there should be none.
  std::string_view ValueFor(fabric::HostId host) const {
    const int holder = holder_[host.index()];
    const std::int64_t promised = promised_[host.index()];
    // Of other devices it is not known here whether all are promised. A Node that shows no GPUs, or has no
    // place at present, may have them again.
    if (holder == kNobody || promised == 0 ||
        promised < snapshot_.cluster.hosts[host.index()].gpus) {
      return "";
    }
    return holder == kSeveral ? "several"
                              : std::string_view(values_[static_cast<std::size_t>(holder)]);
  }

 private:
  static constexpr int kNobody = -1;
  static constexpr int kSeveral = -2;
  const plan::Snapshot& snapshot_;
  std::vector<std::int64_t> promised_;  // GPUs, by HostId
  std::vector<int> holder_;             // job, by HostId
  std::vector<std::string> values_;     // by job
};

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

// Nearly every Node is, in nearly every pass.
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
      operations.push_back({{"op", "replace"}, {"path", path + "/value"}, {"value", value}});
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

TaintChanges HostTaintChanges(const plan::Snapshot& snapshot, const state::ClusterState& world,
                              bool wanted, const std::vector<char>* open) {
  TaintChanges out;
  const Promises promises(snapshot);
  // Nodes and hosts both ascend by name.
  const fabric::Places& places = *snapshot.places;
  auto host = places.by_name().begin();
  const auto end = places.by_name().end();
  for (const auto& node : world.nodes) {
    while (host != end && places.name(*host) < node->metadata.name) ++host;
    Wanted taints;
    if (wanted && host != end && places.name(*host) == node->metadata.name) {
      const bool chosen = snapshot.cluster.hosts[host->index()].backup && !node->backup();
      const bool needs_taint = open == nullptr || (*open)[host->index()] != 0;
      taints = {needs_taint ? promises.ValueFor(*host) : "", chosen ? api::kChosenBackupValue : ""};
      if (!taints.promised.empty()) ++out.promised;
    }
    if (node->metadata.deleted_ms || IsRight(*node, taints)) continue;
    out.changes.push_back({node->metadata.name, PatchOf(*node, taints)});
  }
  return out;
}

}  // namespace yardmaster::extender
