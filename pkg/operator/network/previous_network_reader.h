// The present network plan, read from the cluster's objects: levels from the Gangs' statuses,
// source ports from the pods' path plans. With it an operator that has just started, or just begun
// to lead, keeps the plan that is in force.
//
// A plan counts with any expiry and generation: its ports are only a starting point, and
// the planner looks where they lead. Ignored are pods on another host than their rank's, pods that
// are on none yet and whose plan was made for other places of their gang, and texts that cannot be
// read. Thread safety: pure functions.
#pragma once

#include "pkg/netplan/previous_network.h"
#include "pkg/operator/network/pods_by_gang.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

// REQUIRES: snapshot.network.
netplan::PreviousNetwork PreviousFromObjects(const plan::Snapshot& snapshot,
                                             const GangsByKey& gangs, const PodsByGang& pods);

}  // namespace yardmaster::op
