// GPU time that incidents cost a job, and how often it should write checkpoints.
//
// An incident costs the work since the last checkpoint and the time until every worker runs again,
// times the job's GPUs. Where no checkpoint was reported since all workers ran, the lost
// work is half of spec.checkpoint.intervalSeconds or half of the time that they ran, whichever is
// shorter; without an interval only the time until they run again is counted. Where data groups
// restart by themselves, only their GPUs and the time until they run again count: the others go on
// and hand them their state.
//
// Interval: J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart
// dumps, Future Generation Computer Systems 22 (2006), equation 37. For a checkpoint that costs C
// seconds and a mean time M between failures it is sqrt(2CM) (1 + sqrt(C/2M)/3 + (C/2M)/9) - C, and
// M where C >= 2M. To first order that is Young's sqrt(2CM).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/api/checkpoint_mark.h"
#include "pkg/api/training_job.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

// REQUIRES: cost > 0 and mean time > 0. Unit: seconds.
double OptimalInterval(double checkpoint_seconds, double mean_seconds_between_failures);

// Mean time between incidents of a job on `hosts` hosts, from `incidents` of them in
// `running_seconds`. What is known of hosts in general is weighted as one failure in
// kHostHoursPerFailure host hours, so that a young job has a usable value.
inline constexpr double kHostHoursPerFailure = 5'000;
double MeanSecondsBetweenIncidents(int hosts, int incidents, double running_seconds);

// Notes a checkpoint in `status`, and how often one should be written once its cost is known. The
// time between incidents is counted since all workers ran first or, where the status keeps fewer
// incidents than the job has had since, from the oldest that it keeps.
void SetCheckpoint(const api::TrainingJob& before, const api::CheckpointMark& mark,
                   std::int64_t now_ms, api::TrainingJobStatus& status);

// GPUs of the workers of all jobs that have run since they were made or resumed, and that are
// neither suspended nor over: what lost GPU time is lost of.
double StartedGpus(const state::ObjectTable<api::TrainingJob>& jobs);

// Adds to `status` what the change of the recovery state from `before` costs: when an incident
// began, when one ended, and when the job was suspended.
void AddLostWork(const api::TrainingJob& before, std::int64_t now_ms,
                 api::TrainingJobStatus& status);

}  // namespace yardmaster::op
