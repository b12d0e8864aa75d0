// A move of a running TrainingJob to other hosts: the operator's half.
//
//   asked      by the annotation yardmaster.dev/move with another id than the last one that was
//              answered, or by the operator's policy in the status. A job that may not move now is
//              told so (move_terms.h). After a refusal the annotation is looked at again in
//              kRefusedAgainMs: of a series of requests most are never answered.
//   promised   the ledger keeps the next hosts for it (extender/steps/move_step.h). The job is
//              asked for a checkpoint where its policy says how; then an incident of cause Moved
//              begins, in the same write as the state Moving.
//   restarted  its pods end, and none is made while the Gang, as the API server has it, holds the
//              promise: first the gang has to be at its next place, or to have given the move up.
//              Then pods are made as after every incident, where the gang has its place.
// Everything follows from the status and the Gang, so any process carries on. Whatever else happens
// to the job (a failure, a suspension, another size, its end) comes first, and the move is
// abandoned.
//
// What a move means for later requests is in its record (api/job_move.h). A move that is Done or
// Abandoned sets its time there; one of the policy that is Refused is taken off what the policy has
// spent, and sets the time of that refusal; a person's that is Refused changes nothing.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>

#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

// From a refusal until the job's annotation is looked at again.
inline constexpr std::int64_t kRefusedAgainMs = 30'000;

struct MoveStep {
  api::JobMove move;   // to be written
  bool ready = false;  // the next hosts are promised: the job may leave those that it has
  std::optional<std::int64_t> look_again_ms;
};

// `gang`: the one of that name, as the watch has it; null: none. `least_run_ms`: all workers of a
// job that is to move have run for so long.
MoveStep NextMove(const api::TrainingJob& job, const api::Gang* gang, std::int64_t now_ms,
                  std::int64_t least_run_ms);
// The ledger keeps the next hosts for the job's request, for long enough that its pods can end.
// `gang`: as the API server has it; null: there is none.
bool MayLeaveHosts(const api::TrainingJob& job, const api::Gang* gang, std::int64_t now_ms);
// The incident of that attempt has begun: the job leaves its hosts.
void BeginMoving(std::int64_t attempt, api::JobMove& move);

}  // namespace yardmaster::op
