#include "pkg/state/guessed_places.h"

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "pkg/api/metadata.h"
#include "pkg/base/strings.h"

namespace yardmaster::state {

namespace {

struct Source {
  const char* name;
  const char* fabric_pod;  // null: the source has no such label
  const char* segment;
};

// The segment is what hosts share that are one switch apart. EKS has a fourth layer, the closest
// one, on instance types whose network has four. AKS writes no label of the network.
constexpr Source kSources[] = {
    {"Yardmaster", "yardmaster.dev/fabric-pod", "yardmaster.dev/segment"},
    {"topograph", "fabric.topograph.run/tier-1", "fabric.topograph.run/tier-0"},
    {"topograph", "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"},
    {"EKS", "topology.k8s.aws/network-node-layer-3", "topology.k8s.aws/network-node-layer-4"},
    {"EKS", "topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-3"},
    {"GKE", "cloud.google.com/gce-topology-block", "cloud.google.com/gce-topology-subblock"},
    {"OKE", "oci.oraclecloud.com/rdma.network_block_id", "oci.oraclecloud.com/rdma.local_block_id"},
    {"OKE", "oci.oraclecloud.com/host.network_block_id", "oci.oraclecloud.com/host.rack_id"},
    {"CoreWeave", "backend.coreweave.cloud/superpod", "backend.coreweave.cloud/leafgroup"},
    {"CoreWeave", "ib.coreweave.cloud/superpod", "ib.coreweave.cloud/leafgroup"},
};
// Of hosts that share a scale-up network. Capacity blocks of EKS are reservations and are left out;
// the value of gpu.clique may change when a host starts again.
constexpr const char* kDomains[] = {"yardmaster.dev/domain",
                                    "accelerator.topograph.run/domain",
                                    "network.topology.nvidia.com/accelerator",
                                    "topology.k8s.aws/ultraserver-id",
                                    "ds.coreweave.com/nvlink.domain",
                                    "nvidia.com/gpu.clique"};
// All hosts are in it where no label says anything.
constexpr char kOnlyPlace[] = "all";

bool Has(const api::Node& node, const std::string& key) {
  const auto value = api::Find(node.metadata.labels, key.c_str());
  return value && !value->empty();
}

std::int64_t CountOf(const Nodes& nodes, const std::string& key) {
  std::int64_t count = 0;
  for (const auto& node : nodes) count += node->gpus() > 0 && Has(*node, key) ? 1 : 0;
  return count;
}

// The value of the first label that the Node has; empty: it has none.
std::string ValueOf(const api::Node& node, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (Has(node, key)) return std::string(*api::Find(node.metadata.labels, key.c_str()));
  }
  return "";
}

// What the labels of one Node make of it.
struct Place {
  std::string fabric_pod;
  std::string segment;
  std::string domain;
};

Place PlaceOf(const api::Node& node, const PlaceLabels& labels) {
  Place place;
  place.segment = labels.segment.empty() ? kOnlyPlace : ValueOf(node, {labels.segment});
  place.fabric_pod = labels.fabric_pod.empty() ? kOnlyPlace : ValueOf(node, {labels.fabric_pod});
  place.domain = ValueOf(node, labels.domains);
  return place;
}

std::string NoteOf(const PlaceLabels& labels, std::int64_t hosts, std::size_t fabric_pods,
                   std::size_t segments) {
  if (labels.segment.empty()) {
    return StrCat("no label states where hosts stand, so the ", Count(hosts, "Node"),
                  " with GPUs are taken as one segment; label them with yardmaster.dev/segment "
                  "and yardmaster.dev/fabric-pod");
  }
  return StrCat("guessed from labels of ", labels.source, ": segment by ", labels.segment, " (",
                segments, "), fabric pod by ",
                labels.fabric_pod.empty() ? "nothing" : labels.fabric_pod, " (", fabric_pods, "), ",
                Count(hosts, "host"));
}

}  // namespace

bool PlaceLabels::is_own() const { return segment == kSources[0].segment; }

PlaceLabels GuessPlaceLabels(const Nodes& nodes) {
  PlaceLabels out;
  std::int64_t most = 0;
  for (const Source& source : kSources) {
    const std::int64_t count = CountOf(nodes, source.segment);
    if (count <= most) continue;
    most = count;
    out.source = source.name;
    out.segment = source.segment;
    out.fabric_pod = CountOf(nodes, source.fabric_pod) > 0 ? source.fabric_pod : "";
  }
  for (const char* domain : kDomains) {
    if (CountOf(nodes, domain) > 0) out.domains.emplace_back(domain);
  }
  return out;
}

GuessedPlaces WithGuessedPlaces(const Nodes& nodes) {
  GuessedPlaces out;
  out.nodes = nodes;
  const PlaceLabels labels = GuessPlaceLabels(nodes);
  const bool only_own_domains = labels.domains.empty() || labels.domains[0] == kDomains[0];
  if (labels.is_own() && !labels.fabric_pod.empty() && only_own_domains) return out;
  const fabric::FabricSpec own;
  std::set<std::string> fabric_pods;
  std::set<std::pair<std::string, std::string>> segments;
  std::set<std::string> domains;
  std::int64_t hosts = 0;
  for (const auto& node : nodes) {
    if (node->gpus() == 0) continue;
    const auto& have = node->metadata.labels;
    if (have.contains(own.fabric_pod_label) && have.contains(own.segment_label)) continue;
    Place place = PlaceOf(*node, labels);
    if (place.segment.empty() || place.fabric_pod.empty()) continue;  // named by a warning
    ++hosts;
    fabric_pods.insert(place.fabric_pod);
    segments.insert({place.fabric_pod, place.segment});
    if (!place.domain.empty()) domains.insert(place.domain);
    api::Node labelled = *node;
    labelled.metadata.labels[own.fabric_pod_label] = std::move(place.fabric_pod);
    labelled.metadata.labels[own.segment_label] = std::move(place.segment);
    if (!place.domain.empty()) {
      labelled.metadata.labels[own.scale_up.label] = std::move(place.domain);
    }
    out.nodes.Put(std::make_shared<const api::Node>(std::move(labelled)));
  }
  if (hosts == 0) return out;
  if (!labels.is_own() || labels.fabric_pod.empty()) {
    out.notes.push_back(NoteOf(labels, hosts, fabric_pods.size(), segments.size()));
  }
  if (!only_own_domains) {
    out.notes.push_back(StrCat("guessed domains: hosts that share ",
                               Join(labels.domains, ", else "), " (", domains.size(), ")"));
  }
  return out;
}

}  // namespace yardmaster::state
