// Computes the GPU time that incidents cost a job, and how often the job should write checkpoints.
//
// An incident costs the work since the last checkpoint plus the time until every worker runs again,
// times the job's GPUs. If no checkpoint was reported since all workers ran, the lost work is half
// of spec.checkpoint.intervalSeconds or half of the time that they ran, whichever is shorter;
// without an interval it is 0. If data groups restart by themselves, only their GPUs and the time
// until they run again count, because the other groups keep running and hand them their state.
//
// Interval: J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart
// dumps, Future Generation Computer Systems 22 (2006), equation 37. For a checkpoint that costs C
// seconds and a mean time M between failures it is sqrt(2CM) (1 + sqrt(C/2M)/3 + (C/2M)/9) - C, and
// M if C >= 2M. To first order that is Young's sqrt(2CM).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/api/checkpoint_mark.h"
#include "pkg/api/training_job.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

// Returns the interval between checkpoints, in seconds. REQUIRES: both arguments are greater than
// 0.
double OptimalInterval(double checkpoint_seconds, double mean_seconds_between_failures);

// Estimates the mean time between incidents of a job on `hosts` hosts that had `incidents` in
// `running_seconds`. The prior is one failure in kHostHoursPerFailure host hours, so that a young
// job gets a usable value.
inline constexpr double kHostHoursPerFailure = 5'000;
double MeanSecondsBetweenIncidents(int hosts, int incidents, double running_seconds);

// Records a checkpoint in `status` and, once its cost is known, the recommended interval. Incidents
// are counted since all workers first ran or, if older incidents were dropped from the status,
// since the oldest one that it has.
void SetCheckpoint(const api::TrainingJob& before, const api::CheckpointMark& mark,
                   std::int64_t now_ms, api::TrainingJobStatus& status);

// Returns the GPUs of all jobs whose workers have run and that are neither suspended nor ended: the
// base of lost GPU time.
double StartedGpus(const state::ObjectTable<api::TrainingJob>& jobs);

// Adds to `status` the GPU time that the change of the recovery state from `before` costs: when an
// incident begins, when one ends, and when the job is suspended.
void AddLostWork(const api::TrainingJob& before, std::int64_t now_ms,
                 api::TrainingJobStatus& status);

}  // namespace yardmaster::op
