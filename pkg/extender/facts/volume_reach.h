// Which hosts reach the volumes of a gang's pods. A claim that is bound to a volume with a node
// affinity (a local disk, a disk of one zone) lets its pod run on those nodes alone; a claim that
// is not bound yet limits nothing, because it follows its pod.
//
// Thread safety: values and pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/node.h"
#include "pkg/api/node_constraints.h"
#include "pkg/base/namespaced_name.h"
#include "pkg/gather/gather.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/object_table.h"

namespace yardmaster::extender {

struct VolumeReach {
  bool bound = false;
  std::optional<api::NodeConstraints> nodes;  // nullopt: every node, as far as it is known
};
using VolumesByClaim = std::map<NamespacedName, VolumeReach>;

// The volume that a PersistentVolumeClaim is bound to; empty: none.
std::string VolumeOfClaim(const nlohmann::json& claim);
// Tells a claim from an earlier one of its name.
std::string UidOfClaim(const nlohmann::json& claim);
// Of a PersistentVolume. One whose affinity cannot be read limits nothing.
VolumeReach ReachOfVolume(const nlohmann::json& volume);

// Whether LimitToVolumes may use what these volumes say. More known volumes never make it true.
bool MayLimit(const VolumesByClaim& volumes, const gather::GatheredGang& pods);
// Leaves each rank of `job` the hosts that reach the volumes of its pod. O(hosts) for each distinct
// set of volumes; where the ranks would have more than placement::kMaxHostClasses sets of hosts the
// volumes are left to kube-scheduler.
void LimitToVolumes(const VolumesByClaim& volumes, const gather::GatheredGang& pods,
                    const state::ObjectTable<api::Node>& nodes, const plan::Snapshot& snapshot,
                    plan::JobState& job);

}  // namespace yardmaster::extender
