#include "pkg/operator/jobs/job_move_step.h"

#include <algorithm>
#include <string>
#include <utility>

#include "pkg/api/metadata.h"
#include "pkg/api/short_hash.h"
#include "pkg/api/status_text.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/jobs/move_terms.h"
#include "pkg/operator/jobs/place_request.h"

namespace yardmaster::op {

namespace {

using api::GangMoveState;
using api::JobMove;
using api::JobMoveState;

constexpr std::int64_t kAnswerMs = 60'000;
// What a promise holds at least when pods begin to end for it.
constexpr std::int64_t kLeaveMs = 60'000;

MoveStep Over(JobMove move, JobMoveState state, std::string message, std::int64_t now_ms) {
  move.state = state;
  move.message = api::CutStatusText(std::move(message));
  // The API server keeps whole seconds.
  move.ended_ms = now_ms / 1000 * 1000;
  if (state != JobMoveState::kRefused) {
    move.record.last_ms = move.ended_ms;
  } else if (move.by_policy) {
    move.record.policy_refused_ms = move.ended_ms;
    std::erase_if(move.record.policy_moves, [&](const api::MoveExpense& expense) {
      return expense.asked_ms == move.asked_ms;
    });
  }
  move.attempt = 0;
  move.hosts.clear();
  return {std::move(move), false, std::nullopt};
}

// The answer of the ledger to this request; null: none yet.
const api::GangMove* AnswerOf(const api::TrainingJob& job, const api::Gang* gang) {
  if (gang == nullptr || !IsGangOf(*gang, job) || !gang->status.move) return nullptr;
  return gang->status.move->id == job.status.move.id ? &*gang->status.move : nullptr;
}

std::int64_t TimeToLeaveMs(const api::GangMove& promise, std::int64_t now_ms) {
  return promise.expires_ms - kLeaveMs - now_ms;
}

// Until the next request of a person may be looked at: each one costs writes of two objects, an
// event and a verification, and its answer says something of hosts.
std::int64_t WaitAfterRefusalMs(const JobMove& last, std::int64_t now_ms) {
  const bool waits =
      last.state == JobMoveState::kRefused && IsWithin(last.ended_ms, now_ms, kRefusedAgainMs);
  return waits ? last.ended_ms + kRefusedAgainMs - now_ms : 0;
}

// The request that the annotation makes, if it is a new one.
MoveStep FollowAnnotation(const api::TrainingJob& job, std::int64_t now_ms,
                          std::int64_t least_run_ms) {
  const JobMove& last = job.status.move;
  MoveStep same{last, false, std::nullopt};
  const auto text = api::Find(job.metadata.annotations, api::kMoveAnnotation);
  if (!text) return same;
  auto request = api::DecodeMoveRequest(*text);
  // A request that cannot be read is refused once.
  std::string id =
      request.ok() ? request->id : StrCat("unreadable-", api::ShortHash(std::string(*text)));
  if (id == last.id || id == last.record.request_id) return same;
  if (const std::int64_t wait_ms = WaitAfterRefusalMs(last, now_ms); wait_ms > 0) {
    same.look_again_ms = wait_ms;
    return same;
  }
  JobMove move;
  move.record = last.record;
  move.id = move.record.request_id = std::move(id);
  move.asked_ms = now_ms / 1000 * 1000;
  const auto refused = [&](std::string why) {
    return Over(std::move(move), JobMoveState::kRefused, std::move(why), now_ms);
  };
  if (!request.ok()) {
    return refused(StrCat("metadata.annotations[\"", api::kMoveAnnotation,
                          "\"]: ", MessageOf(request.status())));
  }
  if (const std::string why = WhyNotMovable(job, now_ms, least_run_ms); !why.empty()) {
    return refused(why);
  }
  if (request->hosts.size() != static_cast<std::size_t>(job.job.workers)) {
    return refused(StrCat("metadata.annotations[\"", api::kMoveAnnotation, "\"].hosts: has ",
                          request->hosts.size(), " hosts and the job has ",
                          Count(job.job.workers, "worker"), "; name the next host of every rank"));
  }
  move.state = JobMoveState::kAsked;
  move.price_gpu_seconds = PriceOfMove(job, now_ms);
  move.hosts = std::move(request->hosts);
  return {std::move(move), false, kAnswerMs};
}

MoveStep FollowAnswer(const api::TrainingJob& job, const api::Gang* gang, std::int64_t now_ms) {
  const JobMove& move = job.status.move;
  if (const std::string why = WhyInterrupted(job); !why.empty()) {
    return Over(move, JobMoveState::kAbandoned, why, now_ms);
  }
  const api::GangMove* answer = AnswerOf(job, gang);
  if (answer != nullptr && answer->promised()) {
    const std::int64_t left_ms = TimeToLeaveMs(*answer, now_ms);
    if (left_ms > 0) return {move, true, left_ms};
    return Over(move, JobMoveState::kAbandoned,
                "the promise of its next hosts expires before its pods can end", now_ms);
  }
  if (answer != nullptr) {
    const bool refused = answer->state == GangMoveState::kRefused;
    return Over(move, refused ? JobMoveState::kRefused : JobMoveState::kAbandoned, answer->message,
                now_ms);
  }
  const std::int64_t left_ms = move.asked_ms + kAnswerMs - now_ms;
  // Further ahead: by the clock of another process.
  if (left_ms > 0 && left_ms <= 2 * kAnswerMs) return {move, false, left_ms};
  return Over(move, JobMoveState::kAbandoned,
              StrCat("yardmaster-extender has not answered in ", kAnswerMs / 1000, " s"), now_ms);
}

MoveStep FollowIncident(const api::TrainingJob& job, const api::Gang* gang, std::int64_t now_ms) {
  const JobMove& move = job.status.move;
  const api::Incident* active = job.status.recovery.active();
  if (active != nullptr && active->attempt == move.attempt && !job.status.ended()) {
    return {move, false, std::nullopt};
  }
  const api::GangMove* answer = AnswerOf(job, gang);
  // The watch is behind: pods were made after the promise had ended.
  if (answer != nullptr && answer->promised() && WhyInterrupted(job).empty()) {
    return {move, false, std::nullopt};
  }
  if (answer != nullptr && answer->state == GangMoveState::kDone) {
    return Over(move, JobMoveState::kDone, answer->message, now_ms);
  }
  std::string why = answer == nullptr    ? "its Gang does not have the move any more"
                    : answer->promised() ? WhyInterrupted(job)
                                         : answer->message;
  return Over(move, JobMoveState::kAbandoned, std::move(why), now_ms);
}

}  // namespace

MoveStep NextMove(const api::TrainingJob& job, const api::Gang* gang, std::int64_t now_ms,
                  std::int64_t least_run_ms) {
  switch (job.status.move.state) {
    case JobMoveState::kAsked:
      return FollowAnswer(job, gang, now_ms);
    case JobMoveState::kMoving:
      return FollowIncident(job, gang, now_ms);
    default:
      return FollowAnnotation(job, now_ms, least_run_ms);
  }
}

bool MayLeaveHosts(const api::TrainingJob& job, const api::Gang* gang, std::int64_t now_ms) {
  const api::GangMove* answer = AnswerOf(job, gang);
  return answer != nullptr && answer->promised() && TimeToLeaveMs(*answer, now_ms) > 0;
}

void BeginMoving(std::int64_t attempt, api::JobMove& move) {
  move.state = JobMoveState::kMoving;
  move.attempt = attempt;
  move.hosts.clear();
}

}  // namespace yardmaster::op
