// Computes whether a TrainingJob may be moved to other hosts, and the price of a move.
//
// The price is the time of the restart (spec.capacity.restartSeconds) plus the work since the last
// checkpoint, as for an incident (work_loss.h), times the GPUs of the job. If no checkpoint was
// reported since all workers run, half of the checkpoint interval counts, or half of the time since
// then if that is shorter. The interval is spec.checkpoint.intervalSeconds, else the recommended
// one, else the optimal one for the default failure rate.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/base/namespaced_name.h"
#include "pkg/plan/rebalance/move.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

// Minimum running time before a job may be moved.
inline constexpr std::int64_t kLeastRunMs = 10 * 60 * 1000;
// Minimum time from the end of a move of a job to the next one.
inline constexpr std::int64_t kMoveAgainMs = 60 * 60 * 1000;

// Whether `then_ms` is less than `span_ms` before or after `now_ms`. A time further in the future
// was written by a wrong clock.
bool IsWithin(std::int64_t then_ms, std::int64_t now_ms, std::int64_t span_ms);

// Returns why a job that runs or restarts is about to do something else than move; empty: it is
// not.
std::string WhyInterrupted(const api::TrainingJob& job);
// Returns why a job may not be moved now; empty: it may. These jobs may not:
//
//   - jobs with spec.movable Never, and jobs of another controller;
//   - jobs that have ended, are deleted or suspended, wait for quota, recover, change their size,
//     move already, or have rented hosts;
//   - jobs whose workers have not all run for `least_run_ms`;
//   - jobs whose last move that was Done or Abandoned ended less than kMoveAgainMs ago.
//
// `now_ms` 0: unknown, as for manifests; then a job without conditions counts as running.
std::string WhyNotMovable(const api::TrainingJob& job, std::int64_t now_ms,
                          std::int64_t least_run_ms);
// Returns GPU seconds.
double PriceOfMove(const api::TrainingJob& job, std::int64_t now_ms);

// `now_ms` 0: unknown; then half of the checkpoint interval counts as lost.
plan::MoveTerms MoveTermsOf(const api::TrainingJob& job, std::int64_t now_ms,
                            std::int64_t least_run_ms = kLeastRunMs);

// By the key of each job's gang. Gangs of other owners are not movable, because their owners
// restart them.
using TermsByGang = std::map<NamespacedName, plan::MoveTerms>;
TermsByGang MoveTermsOf(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms,
                        std::int64_t least_run_ms = kLeastRunMs);
// Makes the job immovable. An earlier reason stays.
void Hold(const char* why, plan::MoveTerms& job);
// Makes gangs immovable whose pods are created before the place: their pods would stay.
void KeepFollowing(const state::ObjectTable<api::Gang>& gangs, TermsByGang& terms);
// Returns the terms by JobId of the snapshot.
std::vector<plan::MoveTerms> TermsInOrder(const TermsByGang& terms, const plan::Snapshot& snapshot);

}  // namespace yardmaster::op
