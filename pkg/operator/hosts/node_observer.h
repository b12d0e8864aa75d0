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

// "fabricPod/segment", by the labels that the Fabric names, or the default ones without a Fabric;
// empty: the Node has no label of a segment.
std::string SegmentOf(const api::Node& node, const state::ClusterState& cluster);
// "fabricPod/segment/domain"; empty: the Node has no label of a segment, or of a domain.
std::string DomainOf(const api::Node& node, const state::ClusterState& cluster);

// True when what HostHealth knows of the host has changed.
bool ObserveNode(const state::ClusterCache& cache, const std::vector<FaultRule>& rules,
                 const std::string& name, std::int64_t now_ms, HostHealth& hosts);

}  // namespace yardmaster::op
