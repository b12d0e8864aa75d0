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
// From the end of a move of a job until it may be moved again.
inline constexpr std::int64_t kMoveAgainMs = 60 * 60 * 1000;

// It was less than `span_ms` ago. What lies as far ahead was written by a clock that was wrong.
bool IsWithin(std::int64_t then_ms, std::int64_t now_ms, std::int64_t span_ms);

// Why a job that runs or restarts is about to do something else than move; empty: it is not.
std::string WhyInterrupted(const api::TrainingJob& job);
// Why a job may not be asked to move now; empty: it may. Not movable are jobs with movable Never;
// that another controller runs; that have ended, are suspended, wait for quota, recover, change
// their size, move already, or have rented hosts; whose workers have not all run for
// `least_run_ms`; and whose last move that was not refused ended less than kMoveAgainMs ago.
// `now_ms` 0: unknown, as for manifests; then a job without conditions runs.
std::string WhyNotMovable(const api::TrainingJob& job, std::int64_t now_ms,
                          std::int64_t least_run_ms);
// GPU seconds.
double PriceOfMove(const api::TrainingJob& job, std::int64_t now_ms);

// `now_ms` 0: half of the interval between checkpoints counts as lost.
plan::MoveTerms MoveTermsOf(const api::TrainingJob& job, std::int64_t now_ms,
                            std::int64_t least_run_ms = kLeastRunMs);

// By the key of each job's gang. Other gangs are not movable: their owners restart them.
using TermsByGang = std::map<NamespacedName, plan::MoveTerms>;
TermsByGang MoveTermsOf(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms,
                        std::int64_t least_run_ms = kLeastRunMs);
// It is not movable any more. Where it was not before, the first reason stays.
void Hold(const char* why, plan::MoveTerms& job);
// Gangs whose pods do not follow their place are not movable: those pods stay where they are.
void KeepFollowing(const state::ObjectTable<api::Gang>& gangs, TermsByGang& terms);
// By JobId of the snapshot.
std::vector<plan::MoveTerms> TermsInOrder(const TermsByGang& terms, const plan::Snapshot& snapshot);

}  // namespace yardmaster::op
