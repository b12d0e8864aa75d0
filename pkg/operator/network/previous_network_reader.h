// Reads the present network plan from the objects of the cluster: levels from the statuses of
// Gangs, source ports from the path plans of pods. So an operator that has just started, or become
// leader, keeps the plan that is in force.
//
// A path plan is used whatever its expiry and generation: its ports are only a starting point, and
// the planner checks where they lead. Ignored are
//   - pods on another host than their rank's;
//   - unbound pods whose plan was made for other places of their gang;
//   - annotations that cannot be parsed.
//
// Thread safety: pure functions.
#pragma once

#include "pkg/netplan/previous_network.h"
#include "pkg/operator/network/pods_by_gang.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

// REQUIRES: snapshot.network.
netplan::PreviousNetwork PreviousFromObjects(const plan::Snapshot& snapshot,
                                             const state::ObjectTable<api::Gang>& gangs,
                                             const PodsByGang& pods);

}  // namespace yardmaster::op
