// Builds small clusters as objects, for tests of the page. For tests only.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/state/cluster_state.h"

namespace yardmaster::page {

// Returns a Fabric of one fabric pod p with two segments a and b of four hosts: a0 ... a3, b0 ...
// b3. a3 and b3 are backup hosts.
state::ClusterState TwoSegments();
// Returns a cluster of any size: fabric pods p00 ..., segments s00 ..., hosts p00s00h000 ....
state::ClusterState LargeCluster(int fabric_pods, int segments, int hosts_per_segment);

api::Gang GangOn(const std::string& job, const std::vector<std::string>& hosts);
void Put(state::ClusterState& cluster, const api::Gang& gang);
void Put(state::ClusterState& cluster, const api::Node& node);
void Put(state::ClusterState& cluster, const api::TrainingJob& job);
// Adds a running pod in namespace demo with 8 GPUs on `host`, which belongs to no gang.
void PutPod(state::ClusterState& cluster, const std::string& name, const std::string& host);

}  // namespace yardmaster::page
