// The operator's part of moving a running TrainingJob to other hosts (extender/steps/move_step.h
// has the extender's part).
//
//   asked      A user sets the annotation yardmaster.dev/move with an id that was not answered yet,
//              or the operator's policy asks in the status. A job that may not move now is refused
//              (move_terms.h). After a refusal the annotation is ignored for kRefusedAgainMs, so
//              most of a rapid series of requests are never answered.
//   promised   The extender promises the next hosts. The operator asks the job for a checkpoint, if
//              its policy says how. Then it begins an incident of cause Moved, in the same write as
//              the state Moving.
//   restarted  The pods end. No pod is created while the Gang, as the API server has it, holds the
//              promise. Once the gang is at its next place, or the move was given up, pods are
//              created as after every incident, at the gang's place.
//
// All state is in the job's status and the Gang, so any process can continue. Any other event of
// the job (a failure, a suspension, another size, its end) has priority, and the move is abandoned.
// A move is also abandoned if the extender does not answer within a minute.
//
// The record (api/job_move.h) affects later requests. A move that is Done or Abandoned sets its
// time there. If a move of the policy is Refused, its cost is removed from the policy's spending,
// and the time of the refusal is set. A refused move of a user changes nothing.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>

#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

// How long the annotation is ignored after a refusal.
inline constexpr std::int64_t kRefusedAgainMs = 30'000;

struct MoveStep {
  api::JobMove move;   // to be written
  bool ready = false;  // the next hosts are promised: the job may leave its present ones
  std::optional<std::int64_t> look_again_ms;
};

// Returns the next state of the move. `gang`: the Gang of the job, as the watch has it; null: none.
// `least_run_ms`: the minimum time for which all workers of a job must have run before it may move.
MoveStep NextMove(const api::TrainingJob& job, const api::Gang* gang, std::int64_t now_ms,
                  std::int64_t least_run_ms);
// True if the Gang holds the promise for the job's request for long enough that its pods can end.
// `gang`: as the API server has it; null: none.
bool MayLeaveHosts(const api::TrainingJob& job, const api::Gang* gang, std::int64_t now_ms);
// Sets the state Moving: the incident of `attempt` has begun, and the job leaves its hosts.
void BeginMoving(std::int64_t attempt, api::JobMove& move);

}  // namespace yardmaster::op
