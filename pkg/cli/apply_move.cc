#include "pkg/cli/apply_move.h"

#include <ostream>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/training_job.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/connect.h"

namespace yardmaster::cli {

namespace {

constexpr std::int64_t kPauseMs = 2'000;

// One line of how far it has come.
std::string LineOf(const api::TrainingJob& job) {
  switch (job.status.move.state) {
    case api::JobMoveState::kAsked:
      return "asked for: the next hosts are to be kept for the job";
    case api::JobMoveState::kMoving: {
      const api::Condition* running = api::FindCondition(job.status.conditions, "Running");
      return StrCat("moving: ", running == nullptr ? "its workers restart" : running->message);
    }
    default:
      return "";
  }
}

}  // namespace

absl::Status ApplyMove(kube::Client& client, const MoveToApply& move, int wait_seconds,
                       const Clock& clock, kube::Sleeper& sleeper, std::ostream& out) {
  const kube::Target target{kube::TrainingJobs(), move.namespace_name, move.job, ""};
  const std::string who = StrCat("trainingjob/", move.job, " in ", move.namespace_name);
  const nlohmann::json patch = {
      {"metadata",
       {{"annotations", {{api::kMoveAnnotation, api::EncodeMoveRequest({move.id, move.hosts})}}}}}};
  YM_RETURN_IF_ERROR(client.Patch(target, kube::MergePatch(patch), {kFieldManager}).status());
  out << who << ": requested" << std::endl;
  if (wait_seconds == 0) return absl::OkStatus();
  const std::int64_t end_ms = clock.SteadyMs() + std::int64_t{1000} * wait_seconds;
  std::string shown;
  for (;;) {
    YM_ASSIGN_OR_RETURN(const nlohmann::json object, client.Get(target));
    YM_ASSIGN_OR_RETURN(const api::TrainingJob job,
                        api::DecodeTrainingJob(object, api::UnknownFields::kIgnore));
    const api::JobMove& now = job.status.move;
    const bool answered = now.id == move.id;
    if (answered && now.state == api::JobMoveState::kDone) {
      out << who << ": moved: " << now.message << std::endl;
      return absl::OkStatus();
    }
    if (answered && !now.active()) {
      return absl::FailedPreconditionError(StrCat(who, " is not moved: ", now.message));
    }
    const std::string line = answered ? LineOf(job) : "";
    if (!line.empty() && std::exchange(shown, line) != line)
      out << who << ": " << line << std::endl;
    if (clock.SteadyMs() >= end_ms) {
      return absl::DeadlineExceededError(
          StrCat(who, answered ? " has not moved yet" : ": yardmaster-operator has not answered",
                 " in ", wait_seconds, " s; status.move of the job says how it goes on"));
    }
    (void)sleeper.Sleep(kPauseMs, {});
  }
}

}  // namespace yardmaster::cli
