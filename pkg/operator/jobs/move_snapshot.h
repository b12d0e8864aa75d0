// The cluster as moves of running jobs are looked for in it.
//
// It differs from state::BuildSnapshot:
//   - TrainingJobs without hosts that want none now are left out: suspended, ended or deleted ones,
//     those that wait for quota or for rented hosts, and those that another controller runs;
//   - others are moved for a waiting gang only where the extender has said that it does not fit
//     now. A gang that is not complete would not start after the moves;
//   - measured profiles count, and links that are down.
//
// Cost: O(objects). Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/api/gang.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

plan::Snapshot MoveSnapshot(const state::ClusterState& cluster, std::int64_t now_ms);

// The parts of it, for snapshots that are made in other ways.
state::ClusterState WithoutIdleJobs(state::ClusterState cluster);
void MoveOthersForThoseThatDoNotFit(const state::ObjectTable<api::Gang>& gangs,
                                    plan::Snapshot& snapshot);

}  // namespace yardmaster::op
