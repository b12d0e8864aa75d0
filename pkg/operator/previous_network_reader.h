// What the cluster's objects say holds on the network now: levels from the Gangs' statuses, source
// ports from the pods' path plans. This is how an operator that has just started, or just begun to
// lead, changes nothing that need not change.
//
// A plan counts whatever its expiry and generation: its ports are only a place to start from, and
// the planner looks where they lead. Pods that are not on their slot's host, and texts that cannot
// be read, say nothing. Thread safety: pure functions.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/api/pod.h"
#include "pkg/plan/previous_network.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

// Pods by the gang they have a slot in: "ns/gang" -> rank -> pod.
using PodsByGang = std::map<std::string, std::map<int, std::shared_ptr<const api::Pod>>>;

// Of unfinished pods that are not being deleted.
PodsByGang IndexPods(const state::ObjectTable<api::Pod>& pods);

using GangsByKey = std::map<workload::JobKey, std::shared_ptr<const api::Gang>>;

// REQUIRES: snapshot.network.
plan::PreviousNetwork PreviousFromObjects(const plan::Snapshot& snapshot, const GangsByKey& gangs,
                                          const PodsByGang& pods);

}  // namespace yardmaster::op
