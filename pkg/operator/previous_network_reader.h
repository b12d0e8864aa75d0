// The present network plan, read from the cluster's objects: levels from the Gangs' statuses, source
// ports from the pods' path plans. With it an operator that has just started, or just begun to
// lead, keeps the plan that is in force.
//
// A plan counts with any expiry and generation: its ports are only a starting point, and
// the planner looks where they lead. Pods that are not on their slot's host, and texts that cannot
// be read, are ignored. Thread safety: pure functions.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/api/pod.h"
#include "pkg/netplan/previous_network.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

// Pods by the gang they have a slot in: "ns/gang" -> rank -> pod.
using PodsByGang = std::map<std::string, std::map<int, std::shared_ptr<const api::Pod>>>;

// Of unfinished pods that are not being deleted.
PodsByGang IndexPods(const state::ObjectTable<api::Pod>& pods);

using GangsByKey = std::map<NamespacedName, std::shared_ptr<const api::Gang>>;

// REQUIRES: snapshot.network.
netplan::PreviousNetwork PreviousFromObjects(const plan::Snapshot& snapshot,
                                             const GangsByKey& gangs, const PodsByGang& pods);

}  // namespace yardmaster::op
