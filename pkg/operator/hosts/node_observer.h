// Reports a Node as the cache has it to HostHealth: whether it is Ready, unreadable or gone, its
// segment, its domain, and its faults by the table of node_faults.h.
//
// Thread safety: as the cache and HostHealth, from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/operator/hosts/host_health.h"
#include "pkg/operator/hosts/node_faults.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

// Returns "fabricPod/segment" by the labels that the Fabric names, or by the default labels without
// a Fabric; empty: the Node has no segment label.
std::string SegmentOf(const api::Node& node, const state::ClusterState& cluster);
// Returns "fabricPod/segment/domain"; empty: the Node has no segment or no domain label.
std::string DomainOf(const api::Node& node, const state::ClusterState& cluster);

// True if the state of the host in HostHealth changed.
bool ObserveNode(const state::ClusterCache& cache, const std::vector<FaultRule>& rules,
                 const std::string& name, std::int64_t now_ms, HostHealth& hosts);

}  // namespace yardmaster::op
