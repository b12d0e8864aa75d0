// What a TrainingJob says about being moved to other hosts, and what a move costs it.
//
// A move costs the restart (spec.capacity.restartSeconds) and the work since the last checkpoint,
// as an incident does (work_loss.h). Where no checkpoint was reported since all workers ran, that
// is half of the interval: spec.checkpoint.intervalSeconds, else the recommended one, else the one
// that loses least at the usual rate of failures; or half of the time that the job ran, where that
// is shorter. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pkg/api/training_job.h"
#include "pkg/base/namespaced_name.h"
#include "pkg/plan/rebalance/move.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

// Minimum running time before a job may be moved.
inline constexpr std::int64_t kLeastRunMs = 10 * 60 * 1000;

// Not movable: a job with movable Never; that has ended, is suspended, or is to be suspended; that
// another controller runs; whose workers have not all run for kLeastRunMs. `now_ms` 0: unknown, as
// for manifests; then a job without conditions runs, and half of the interval counts as lost.
plan::MoveTerms MoveTermsOf(const api::TrainingJob& job, std::int64_t now_ms);

// By the key of each job's gang. Other gangs are not movable: their owners restart them.
using TermsByGang = std::map<NamespacedName, plan::MoveTerms>;
TermsByGang MoveTermsOf(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms);
// By JobId of the snapshot.
std::vector<plan::MoveTerms> TermsInOrder(const TermsByGang& terms, const plan::Snapshot& snapshot);

}  // namespace yardmaster::op
