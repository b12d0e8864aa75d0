#include "pkg/app/job_loop.h"

#include <algorithm>
#include <utility>

#include "pkg/app/leadership.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/jobs/refusal_reason.h"
#include "pkg/operator/jobs/stall_reason.h"

namespace yardmaster::app {

JobLoop::JobLoop(const state::ClusterCache& cache, const Clock& clock, metrics::Registry& registry,
                 const metrics::Logger& log, Handlers handlers)
    : cache_(cache),
      handlers_(std::move(handlers)),
      queue_(clock),
      refusals_(clock),
      loop_("jobs", registry, log) {}

void JobLoop::RoomMayHaveCome(const std::string& namespace_name, const std::string& freed_by) {
  const op::JobsToTry next = refusals_.TakeNext(namespace_name, freed_by);
  for (const std::string& key : next.keys) queue_.AddAfter(key, next.in_ms);
}

// The job's condition says what refuses its pods.
bool JobLoop::SaysRefused(const std::string& key) const {
  const auto job = cache_.FindJob(key);
  return job != nullptr && op::WasRefused(*job);
}

void JobLoop::ReportDefect(const RunFailure& failure) const {
  const auto job = cache_.FindJob(failure.object);
  if (job == nullptr || !IsDefect(failure.error)) return;
  handlers_.notify(
      {job->metadata.namespace_name, job->metadata.name, job->metadata.uid, true, "ReconcileFailed",
       StrCat(MessageOf(failure.error), "; the job is left as it is and tried again")});
}

// Its quota and what is rented are decided first: they say whether the job may have pods. Those are
// made even where hosts cannot be rented.
RunResult JobLoop::TakeTurn(const std::string& key, op::JobTurn turn) {
  RunResult result{.done = 1};
  const auto decide = [&](const auto& handler) {
    result.Fail(key, Contain([&]() -> absl::Status {
                  YM_ASSIGN_OR_RETURN(const auto again_ms, handler(key));
                  if (again_ms) result.Again(*again_ms);
                  return absl::OkStatus();
                }));
  };
  if (handlers_.queue) decide(handlers_.queue);
  decide(handlers_.rent);
  const auto job = cache_.FindJob(key);
  op::JobInLine in_line{key};
  if (job != nullptr) {
    const int running = job->status.ready_workers;
    in_line = {key,
               job->metadata.generation,
               job->job.priority,
               job->metadata.created_ms,
               std::max(1, job->members() - running),
               running > 0};
  }
  const std::int64_t refused_wait_ms = refusals_.WaitMs(in_line, turn == op::JobTurn::kBackground);
  op::TurnResult turned;
  const auto run = [&](op::JobTurn one) {
    return Contain([&]() -> absl::Status {
      YM_ASSIGN_OR_RETURN(turned, handlers_.run(key, one));
      if (turned.look_again_ms) result.Again(*turned.look_again_ms);
      if (turned.taken_back > 0) refusals_.TookBack(key);
      return absl::OkStatus();
    });
  };
  const absl::Status made = run(refused_wait_ms > 0 ? op::JobTurn::kLook : turn);
  if (op::IsRefusal(made) && SaysRefused(key)) {
    result.Again(refusals_.Refused(in_line));
    // It is known as refused first: what it takes back is no room for others.
    result.Fail(key, run(op::JobTurn::kLook));
  } else if (!made.ok()) {
    result.Fail(key, made);
  } else if (turned.pods_left > 0 && refused_wait_ms > 0) {
    result.Again(refused_wait_ms);
  } else if (turned.pods_left > 0 && turned.waits) {
    // Its Gang or its network plan wakes it.
    refusals_.Pause(key);
  } else if (turned.pods_left > 0) {
    queue_.AddBackground(key, op::BackgroundDueMs(turned));
  } else if (refusals_.Forget(key)) {
    RoomMayHaveCome(key.substr(0, key.find('/')), "");
  }
  return result;
}

RunResult JobLoop::RunOnce(const std::string& key, op::JobTurn turn) {
  RunResult result = loop_.RunOnce([&] { return TakeTurn(key, turn); }, key);
  for (const RunFailure& failure : result.failures) ReportDefect(failure);
  if (!result.ok()) {
    queue_.AddRateLimited(key);
    return result;
  }
  queue_.Forget(key);
  if (result.again_ms) queue_.AddAfter(key, *result.again_ms);
  return result;
}

void JobLoop::Run() {
  bool background = false;
  while (const auto key = queue_.Get(&background)) {
    if (handlers_.leads()) {
      RunOnce(*key, background ? op::JobTurn::kBackground : op::JobTurn::kPrompt);
    } else {
      handlers_.on_follower();
      queue_.AddAfter(*key, kFollowerRetryMs);
    }
    queue_.Done(*key);
  }
}

}  // namespace yardmaster::app
