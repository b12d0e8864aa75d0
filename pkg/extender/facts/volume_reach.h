// Limits the ranks of a gang to hosts that reach the volumes of their pods. A claim that is bound
// to a volume with a node affinity (a local disk, a disk of one zone) restricts its pod to the
// matching nodes. An unbound claim restricts nothing, because its volume is chosen after the pod's
// node.
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
  std::optional<api::NodeConstraints> nodes;  // nullopt: every node, or not known
};
using VolumesByClaim = std::map<NamespacedName, VolumeReach>;

// Returns the name of the volume to which a PersistentVolumeClaim is bound; empty: unbound.
std::string VolumeOfClaim(const nlohmann::json& claim);
// Returns the uid, which distinguishes a claim from an earlier one of the same name.
std::string UidOfClaim(const nlohmann::json& claim);
// Reads the node affinity of a PersistentVolume. An affinity that cannot be parsed limits nothing.
VolumeReach ReachOfVolume(const nlohmann::json& volume);

// True if LimitToVolumes can apply these volumes: the ranks have few distinct sets of limits. Once
// false, more known volumes do not make it true.
bool MayLimit(const VolumesByClaim& volumes, const gather::GatheredGang& pods);
// Limits each rank of `job` to the hosts that reach the volumes of its pod. If the ranks would have
// more than placement::kMaxHostClasses distinct sets of hosts, changes nothing and leaves the
// volumes to kube-scheduler. O(hosts) for each distinct set of volumes.
void LimitToVolumes(const VolumesByClaim& volumes, const gather::GatheredGang& pods,
                    const state::ObjectTable<api::Node>& nodes, const plan::Snapshot& snapshot,
                    plan::JobState& job);

}  // namespace yardmaster::extender
