// Builds the snapshot in which moves of running jobs are searched.
//
// It differs from that of state::BuildSnapshot:
//
//   - TrainingJobs that have no hosts and want none now are left out: those that are suspended,
//     ended or deleted, wait for quota or rented hosts, or belong to another controller.
//   - Other gangs may be moved for a waiting gang only if the extender has reported that it does
//     not fit now. An incomplete gang would not start after the moves.
//   - Measured profiles and links that are down are taken into account.
//
// Complexity: O(objects). Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>

#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

plan::Snapshot MoveSnapshot(const state::ClusterState& cluster, std::int64_t now_ms);

// The parts of MoveSnapshot, for snapshots that are built in other ways.
//
// EraseJobsWithoutHosts erases the TrainingJobs of which `wants_none` is true, with their Gangs,
// except those that have not given back their hosts. Returns their number.
int EraseJobsWithoutHosts(state::ClusterState& cluster,
                          const std::function<bool(const api::TrainingJob&)>& wants_none);
state::ClusterState WithoutIdleJobs(state::ClusterState cluster);
void MoveOthersForThoseThatDoNotFit(const state::ObjectTable<api::Gang>& gangs,
                                    plan::Snapshot& snapshot);

}  // namespace yardmaster::op
