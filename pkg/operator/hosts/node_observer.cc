#include "pkg/operator/hosts/node_observer.h"

#include <algorithm>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/state/node_facts.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::op {

namespace {

// As NodeClaims give it to their Nodes, and people to their node groups.
bool IsRented(const api::Node& node) {
  return api::Find(node.metadata.labels, api::kRentalLabel).has_value() ||
         std::any_of(node.taints.begin(), node.taints.end(),
                     [](const api::Taint& taint) { return taint.key == api::kRentedKey; });
}

}  // namespace

std::string SegmentOf(const api::Node& node, const state::ClusterState& cluster) {
  const fabric::FabricSpec no_fabric;  // its labels are the default ones
  const auto fabric = state::UsedFabric(cluster.fabrics);
  const fabric::FabricSpec& spec = fabric == nullptr ? no_fabric : fabric->spec;
  const auto pod = api::Find(node.metadata.labels, spec.fabric_pod_label.c_str());
  const auto segment = api::Find(node.metadata.labels, spec.segment_label.c_str());
  return segment ? StrCat(pod.value_or(""), "/", *segment) : std::string();
}

std::string DomainOf(const api::Node& node, const state::ClusterState& cluster) {
  const auto fabric = state::UsedFabric(cluster.fabrics);
  if (fabric == nullptr) return "";
  const std::string segment = SegmentOf(node, cluster);
  const std::string domain = state::DomainOf(node, fabric->spec.scale_up);
  return segment.empty() || domain.empty() ? std::string() : StrCat(segment, "/", domain);
}

bool ObserveNode(const state::ClusterCache& cache, const std::vector<FaultRule>& rules,
                 const std::string& name, std::int64_t now_ms, HostHealth& hosts) {
  const auto node = cache.FindNode(name);
  HostHealth::Report report = HostHealth::Report::kGone;
  if (!cache.ProblemOf(state::Kind::kNode, name).empty()) {
    report = HostHealth::Report::kUnknown;
  } else if (node != nullptr) {
    report =
        node->ready.value_or(false) ? HostHealth::Report::kReady : HostHealth::Report::kNotReady;
  }
  const state::ClusterState cluster = cache.Take();
  hosts.SetFabricExists(!cluster.fabrics.empty());
  const std::string segment = node == nullptr ? "" : SegmentOf(*node, cluster);
  const bool rented = node != nullptr && IsRented(*node);
  const std::string domain = node == nullptr ? "" : DomainOf(*node, cluster);
  const bool changed = hosts.Observe(name, segment, report, now_ms, rented, domain);
  std::vector<NodeFault> faults;
  if (node != nullptr && report != HostHealth::Report::kUnknown) {
    const auto fabric = state::UsedFabric(cluster.fabrics);
    const int nic_ports = fabric == nullptr ? 0 : fabric->spec.nic_ports;
    faults = FaultsOf(*node, nic_ports, rules);
  }
  return hosts.ObserveFaults(name, faults, now_ms) || changed;
}

}  // namespace yardmaster::op
