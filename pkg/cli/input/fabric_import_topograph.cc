#include "pkg/cli/input/fabric_import_topograph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/state/guessed_places.h"

namespace yardmaster::cli {

namespace {

constexpr char kLeaf[] = "network.topology.nvidia.com/leaf";
constexpr char kSpine[] = "network.topology.nvidia.com/spine";
// Of hosts that share a scale-up network. The second may change when a host starts again.
constexpr const char* kDomains[] = {"accelerator.topograph.run/domain", "nvidia.com/gpu.clique"};
constexpr char kSubDomain[] = "accelerator.topograph.run/sub-domain";

const std::string* Label(const api::Node& node, const std::string& key) {
  const auto found = node.metadata.labels.find(key);
  return found == node.metadata.labels.end() || found->second.empty() ? nullptr : &found->second;
}

bool AnyHas(const std::vector<const api::Node*>& nodes, const std::string& key) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&key](const api::Node* node) { return Label(*node, key) != nullptr; });
}

// "n1, n2, n3 and 5 more".
std::string SomeOf(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> some(names.begin(),
                                      names.begin() + std::min(names.size(), kShown));
  return Join(some, ", ") +
         (names.size() > kShown ? StrCat(" and ", names.size() - kShown, " more") : "");
}

absl::Status CheckLabelled(const std::vector<const api::Node*>& nodes, const std::string& key) {
  std::vector<std::string> without;
  for (const api::Node* node : nodes) {
    if (Label(*node, key) == nullptr) without.push_back(node->metadata.name);
  }
  if (without.empty()) return absl::OkStatus();
  return FieldError(StrCat("metadata.labels[\"", key, "\"]"),
                    StrCat("is missing on ", SomeOf(without)),
                    "let topograph label all GPU Nodes, or name the labels with --leaf-label and "
                    "--spine-label");
}

struct LeafPlaces {
  std::map<std::string, int> hosts_of_leaf;
  std::map<std::string, std::set<std::string>> leaves_of_spine;
};

absl::StatusOr<LeafPlaces> LeafPlacesOf(const std::vector<const api::Node*>& hosts,
                                        const fabric::FabricSpec& spec) {
  YM_RETURN_IF_ERROR(CheckLabelled(hosts, spec.segment_label));
  YM_RETURN_IF_ERROR(CheckLabelled(hosts, spec.fabric_pod_label));
  LeafPlaces places;
  std::map<std::string, const api::Node*> first_of_leaf;
  for (const api::Node* node : hosts) {
    const std::string& leaf = *Label(*node, spec.segment_label);
    const std::string& spine = *Label(*node, spec.fabric_pod_label);
    const api::Node* first = first_of_leaf.emplace(leaf, node).first->second;
    if (*Label(*first, spec.fabric_pod_label) != spine) {
      return FieldError(
          StrCat("metadata.labels[\"", spec.fabric_pod_label, "\"]"),
          StrCat("leaf ", leaf, " is under ", *Label(*first, spec.fabric_pod_label), " by Node ",
                 first->metadata.name, " and under ", spine, " by Node ", node->metadata.name),
          "let topograph label the Nodes again");
    }
    ++places.hosts_of_leaf[leaf];
    places.leaves_of_spine[spine].insert(leaf);
    if (node->gpus() != spec.gpus_per_host) {
      return FieldError(StrCat("Node ", node->metadata.name, ": status.allocatable"),
                        StrCat("has ", Count(node->gpus(), "GPU"), ", the Fabric's hosts have ",
                               spec.gpus_per_host),
                        "start from a --preset with such hosts");
    }
  }
  return places;
}

// The size that holds all of these places.
void SetSize(const LeafPlaces& places, fabric::FabricSpec& spec) {
  spec.fabric_pods = static_cast<int>(places.leaves_of_spine.size());
  spec.segments_per_fabric_pod = spec.hosts_per_segment = 0;
  for (const auto& [spine, leaves] : places.leaves_of_spine) {
    spec.segments_per_fabric_pod =
        std::max(spec.segments_per_fabric_pod, static_cast<int>(leaves.size()));
  }
  for (const auto& [leaf, count] : places.hosts_of_leaf) {
    spec.hosts_per_segment = std::max(spec.hosts_per_segment, count);
  }
  spec.backup.hosts_per_segment =
      std::min(spec.backup.hosts_per_segment, spec.hosts_per_segment - 1);
}

// The labels of domains that the Nodes have and the size of the largest domain; without such
// labels the base's stay.
void SetDomains(const std::vector<const api::Node*>& hosts, ImportedFabric& out) {
  std::vector<std::string> labels;
  for (const char* key : kDomains) {
    if (AnyHas(hosts, key)) labels.emplace_back(key);
  }
  if (labels.empty()) return;
  std::map<std::pair<std::string, std::string>, int> hosts_of_domain;  // by segment and name
  int most = 0;
  for (const api::Node* node : hosts) {
    const auto key = std::find_if(labels.begin(), labels.end(), [node](const std::string& label) {
      return Label(*node, label) != nullptr;
    });
    if (key == labels.end()) continue;
    const std::string& segment = *Label(*node, out.fabric.spec.segment_label);
    most = std::max(most, ++hosts_of_domain[{segment, *Label(*node, *key)}]);
  }
  fabric::ScaleUp& scale_up = out.fabric.spec.scale_up;
  out.notes.push_back(StrCat(Count(static_cast<int>(hosts_of_domain.size()), "domain"), " by ",
                             Join(labels, ", else "), ", the largest of ", Count(most, "host")));
  if (AnyHas(hosts, kSubDomain)) {
    out.notes.push_back(StrCat(kSubDomain, " is not used: its values name parts of one domain"));
  }
  scale_up.label = labels[0];
  scale_up.more_labels.assign(labels.begin() + 1, labels.end());
  scale_up.hosts_per_domain = most;
  scale_up.backup_hosts_per_domain = std::min(scale_up.backup_hosts_per_domain, most - 1);
}

// Those of topograph where the Nodes have no label that is known.
state::PlaceLabels LabelsOf(const std::vector<api::Node>& nodes) {
  state::Nodes table;
  for (const api::Node& node : nodes) table.Put(std::make_shared<const api::Node>(node));
  state::PlaceLabels labels = state::GuessPlaceLabels(table);
  if (labels.segment.empty() || labels.fabric_pod.empty()) {
    labels.segment = kLeaf;
    labels.fabric_pod = kSpine;
  }
  return labels;
}

}  // namespace

absl::StatusOr<ImportedFabric> ImportTopograph(const std::vector<api::Node>& nodes,
                                               const api::Fabric& base, const TopographKeys& keys) {
  std::vector<const api::Node*> hosts;
  for (const api::Node& node : nodes) {
    if (node.gpus() > 0) hosts.push_back(&node);
  }
  if (hosts.empty()) {
    return absl::InvalidArgumentError(
        "no Node has GPUs (status.allocatable); give the output of kubectl get nodes -o yaml");
  }
  ImportedFabric out;
  out.fabric = base;
  fabric::FabricSpec& spec = out.fabric.spec;
  const state::PlaceLabels labels = LabelsOf(nodes);
  spec.segment_label = keys.leaf.value_or(labels.segment);
  spec.fabric_pod_label = keys.spine.value_or(labels.fabric_pod);
  YM_ASSIGN_OR_RETURN(const LeafPlaces places, LeafPlacesOf(hosts, spec));
  SetSize(places, spec);
  if (spec.fabric_pods > 1 && spec.tiers.back().scope != fabric::Scope::kFabric) {
    return FieldError("spec.size.fabricPods",
                      StrCat(spec.fabric_pods, " fabric pods and no tier of scope Fabric"),
                      "start from a --preset with a core tier");
  }
  YM_RETURN_IF_ERROR(fabric::Validate(spec));
  SetDomains(hosts, out);
  spec.ecmp_hash.clear();
  spec.ecmp_hash_overrides.clear();
  out.notes.push_back(
      StrCat("labels say where hosts stand; ports and speeds are those of ", base.metadata.name));
  out.notes.push_back(
      "no path is predicted until spec.ecmpHash describes your switches and the Nodes name the "
      "addresses of their NICs (annotation yardmaster.dev/nic-addresses)");
  if (hosts.size() < nodes.size()) {
    out.notes.push_back(StrCat(Count(static_cast<int>(nodes.size() - hosts.size()), "Node"),
                               " without GPUs left out"));
  }
  return out;
}

}  // namespace yardmaster::cli
