// What one Node says of its host, apart from all other objects. See snapshot_builder.h for the
// rules. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/api/node.h"
#include "pkg/api/node_constraints.h"
#include "pkg/fabric/places.h"
#include "pkg/fabric/spec.h"
#include "pkg/placement/cluster.h"

namespace yardmaster::state {

struct NodePlace {
  std::optional<fabric::HostPlace> place;  // nullopt: the Node is not used
  std::vector<std::string> warnings;
};
NodePlace PlaceOf(const api::Node& node, const fabric::FabricSpec& spec);
// The value of the first of these labels that the Node has; empty: it has none.
std::string DomainOf(const api::Node& node, const fabric::ScaleUp& scale_up);

struct HostFacts {
  // All GPUs free; unavailable only for what the Node says of itself.
  placement::HostState state;
  bool may_lose_ranks = false;                  // gone, NotReady, or some of its taints evict
  std::vector<std::pair<int, int>> down_ports;  // (rail, port)
  std::vector<std::string> warnings;
};
HostFacts FactsOf(const api::Node& node, const fabric::FabricSpec& spec);
// What the Node offers of a resource, as kube-scheduler counts it: 0 where the Node does not list
// it. Cpu, memory, pods and ephemeral storage are not limited on a Node that lists none of the
// first three (a Node from a rendered manifest, without a kubelet). For names that are not
// resources the answer is api::RoomForExclusive's.
std::int64_t AllocatableOf(const api::Node& node, std::string_view resource);
// Cpu, memory, pods and ephemeral storage.
bool IsOfEveryNode(std::string_view resource);
// Of a host that a gang was promised and whose Node is gone.
HostFacts FactsWithoutNode();

// What the taints of a Node mean for its host. Kubernetes' own taints and that of quarantined hosts
// describe the node's health and make it unavailable for every job. Our other taints are ignored,
// because backup hosts and promised GPUs are counted, and released pods tolerate them.
bool IsUnhealthy(const api::Node& node);
// Whether the Node has a taint, neither Kubernetes' own nor ours, that these tolerations do not
// tolerate.
bool IsRepelled(const api::Node& node, const std::vector<api::Toleration>& tolerations);
// Whether running pods with these tolerations are evicted.
bool IsEvicted(const api::Node& node, const std::vector<api::Toleration>& tolerations);

}  // namespace yardmaster::state
