#include "pkg/operator/jobs/job_controller.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/job_status_patch.h"
#include "pkg/operator/jobs/job_end.h"
#include "pkg/operator/jobs/job_move_step.h"
#include "pkg/operator/jobs/refusal_reason.h"
#include "pkg/operator/jobs/stall_condition.h"
#include "pkg/operator/jobs/work_loss.h"
#include "pkg/operator/pods/pod_builder.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

namespace {

constexpr std::int64_t kNameTakenAgainMs = 30'000;
constexpr std::int64_t kUnconfirmedAgainMs = 1'000;
constexpr std::int64_t kResizedAgainMs = 1;
constexpr std::int64_t kTakeBackAgainMs = 100;
// Of one turn that makes pods or takes them back: other jobs wait for it that long.
constexpr std::size_t kTurnPods = 63;  // 1, 2, 4 and so on to 32
constexpr std::int64_t kTurnMs = 100;
// Of one turn that makes pods of a gang that has its hosts, which stand empty until then.
constexpr CreateLimit kPlacedTurn = {512, 500, kPlacedWriteThreads};

CreateLimit LimitOf(JobTurn turn, const api::TrainingJob& job) {
  if (turn == JobTurn::kWhole) return {};
  const bool has_run = job.status.recovery.running_attempt >= 0;
  if (turn == JobTurn::kLook || (turn == JobTurn::kPrompt && !has_run)) return {0, 0};
  return {kTurnPods, kTurnMs};
}

// All pods are there and are to stay, and the Service was refused.
bool LacksService(const api::TrainingJob& job, const JobStep& step) {
  return step.create.empty() && step.pods > 0 && !step.recovery.suspended && ServiceWasRefused(job);
}

// The contradiction within the job, with hosts of any size; empty: none.
std::string ContradictionOf(const api::TrainingJob& job) {
  constexpr int kAnyHost = 1024;
  return Join(
      workload::Problems(
          api::ToJob(job.job, {job.metadata.namespace_name, job.metadata.name}, "", 0, kAnyHost),
          kAnyHost),
      "\n");
}

}  // namespace

JobController::JobController(kube::Client& client, state::ClusterCache& cache, HostHealth& hosts,
                             HostMarker& marker, const Clock& clock, Notify notify,
                             std::function<bool()> may_write, std::size_t write_threads,
                             PlaceOptions place)
    : client_(client),
      cache_(cache),
      marker_(marker),
      clock_(clock),
      hosts_(hosts),
      observer_(cache, hosts, marker, clock),
      writes_(
          client, cache, clock, may_write ? std::move(may_write) : [] { return true; },
          write_threads),
      notify_(std::move(notify)),
      placer_(client, cache, clock, writes_, place,
              [this](const api::TrainingJob& job, const std::string& reason,
                     const std::string& note) { EmitEvent(job, true, reason, note); }),
      least_run_ms_(place.least_run_ms),
      statuses_(clock) {}

void JobController::EmitEvent(const api::TrainingJob& job, bool warning, std::string reason,
                              std::string note) {
  notify_({job.metadata.namespace_name, job.metadata.name, job.metadata.uid, warning,
           std::move(reason), std::move(note)});
}

// The watch of pods may be behind the one of jobs: that a worker is gone is asked of the server
// before a job is restarted for it; so is the promise of other hosts before a job leaves its own.
absl::StatusOr<bool> JobController::IsConfirmed(const api::TrainingJob& job, const JobStep& step) {
  if (step.begins_move) {
    YM_ASSIGN_OR_RETURN(const auto gang, placer_.ReadGang(job));
    return MayLeaveHosts(job, gang.get(), clock_.WallMs());
  }
  if (step.removed < 0) return true;
  auto pod = client_.Get(TargetOf(kube::Pods(), job, MemberName(job, step.removed)));
  if (absl::IsNotFound(pod.status())) return true;
  YM_RETURN_IF_ERROR(pod.status());
  return (*pod)["metadata"].contains("deletionTimestamp");
}

absl::Status JobController::WriteStatus(api::TrainingJob& job,
                                        const api::TrainingJobStatus& status) {
  if (status == job.status) return absl::OkStatus();
  nlohmann::json fields = api::EncodeTrainingJobStatus(status);
  // A merge patch keeps what it does not name.
  for (const char* field :
       {"startTime", "completionTime", "intensity", "level", "elastic", "roles"}) {
    if (!fields.contains(field)) fields[field] = nullptr;
  }
  YM_RETURN_IF_ERROR(PatchJobStatus(client_, cache_, job, fields));
  job.status = status;
  statuses_.Written(job);
  return absl::OkStatus();
}

void JobController::Forget(const std::string& key) {
  placer_.Forget(key);
  statuses_.Forget(key);
  last_waits_.Forget(key);
}

void JobController::CountLostWork(const api::TrainingJobStatus& before,
                                  const api::TrainingJobStatus& after) {
  MutexLock lock(lost_mutex_);
  for (const auto& [cause, seconds] : after.lost_gpu_seconds) {
    const auto known = before.lost_gpu_seconds.find(cause);
    const double more = seconds - (known == before.lost_gpu_seconds.end() ? 0 : known->second);
    if (more > 0) lost_gpu_seconds_[cause] += more;
  }
}

std::map<std::string, double> JobController::lost_gpu_seconds() const {
  MutexLock lock(lost_mutex_);
  return lost_gpu_seconds_;
}

int JobController::ChoosePort(const api::TrainingJob& job) {
  if (job.status.rendezvous_port != 0 || !job.pod_template.host_network()) {
    return job.status.rendezvous_port;
  }
  MutexLock lock(ports_mutex_);
  std::set<int> taken;
  std::set<std::string> alive;
  for (const auto& other : cache_.Take().jobs) {
    if (other->status.ended()) continue;
    const std::string& uid = other->metadata.uid;
    alive.insert(uid);
    if (uid != job.metadata.uid) taken.insert(other->status.rendezvous_port);
  }
  std::erase_if(ports_, [&](const auto& chosen) { return alive.count(chosen.first) == 0; });
  for (const auto& [uid, port] : ports_) {
    if (uid != job.metadata.uid) taken.insert(port);
  }
  return ports_[job.metadata.uid] = ChooseHostPort(job.metadata.uid, taken);
}

absl::Status JobController::EndMove(const api::TrainingJob& job) {
  if (!job.status.move.active()) return absl::OkStatus();
  api::TrainingJob written = job;
  api::TrainingJobStatus status = job.status;
  status.move = NextMove(job, placer_.GangOf(job).get(), clock_.WallMs(), least_run_ms_).move;
  YM_RETURN_IF_ERROR(WriteStatus(written, status));
  AnnounceMove(written, job.status.move);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::int64_t>> JobController::CleanUp(const api::TrainingJob& job) {
  StallReason ignored;
  api::CheckpointMark checkpoint;
  std::int64_t end_ms = job.status.completion_ms;
  for (const char* type : {"Succeeded", "Failed"}) {
    const api::Condition* end = api::FindCondition(job.status.conditions, type);
    // A version that did not keep the time has ended it.
    if (end_ms == 0 && end != nullptr) end_ms = end->transition_ms;
  }
  const EndStep step = AfterEnd(observer_.Observe(job, ignored, checkpoint), end_ms);
  YM_RETURN_IF_ERROR(writes_.Remove(job, step.remove));
  const absl::Status ended = EndMove(job);
  if (!absl::IsNotFound(ended)) YM_RETURN_IF_ERROR(ended);
  if (!step.delete_job) return step.look_again_ms;
  kube::DeleteOptions options;
  options.uid = job.metadata.uid;
  options.propagation = "Background";
  const absl::Status deleted =
      client_.Delete(TargetOf(kube::TrainingJobs(), job, job.metadata.name), options);
  if (!absl::IsNotFound(deleted) && !absl::IsAborted(deleted)) YM_RETURN_IF_ERROR(deleted);
  return std::optional<std::int64_t>();
}

absl::Status JobController::SetStalled(api::TrainingJob& job, const JobStep& step,
                                       const StallReason& stall,
                                       const std::string& reason_of_none) {
  std::optional<StallChange> change = NextStalled(job, stall, reason_of_none);
  if (!change) return absl::OkStatus();
  api::TrainingJob next = job;
  api::SetCondition(next.status.conditions, change->condition, clock_.WallMs());
  // Why it has no place follows from it.
  YM_RETURN_IF_ERROR(
      WriteStatus(job, StatusOf(next, placer_.GangOf(job).get(), step, clock_.WallMs())));
  if (change->is_event) EmitEvent(job, true, change->condition.type, change->condition.message);
  return absl::OkStatus();
}

absl::Status JobController::Refuse(const api::TrainingJob& job, const std::string& problem) {
  api::TrainingJob written = job;
  api::TrainingJobStatus status = job.status;
  status.observed_generation = job.metadata.generation;
  const bool fresh = api::SetCondition(
      status.conditions,
      {"Planned", api::ConditionStatus::kFalse, "Invalid", problem, job.metadata.generation, 0},
      clock_.WallMs());
  YM_RETURN_IF_ERROR(WriteStatus(written, status));
  if (fresh) EmitEvent(job, true, "Invalid", problem);
  return absl::OkStatus();
}

// Touches nothing of the status but the condition: the rest may be what cannot be read.
absl::Status JobController::RefuseUnreadable(const std::string& key, const std::string& problem) {
  const std::size_t slash = key.find('/');
  api::TrainingJob job;
  job.metadata.namespace_name = key.substr(0, slash);
  job.metadata.name = key.substr(slash + 1);
  auto object = client_.Get(TargetOf(kube::TrainingJobs(), job, job.metadata.name));
  if (absl::IsNotFound(object.status())) return absl::OkStatus();
  YM_RETURN_IF_ERROR(object.status());
  job.metadata.uid = kube::UidOf(*object);
  job.metadata.resource_version = kube::ResourceVersionOf(*object);
  // How its pods are to end cannot be read either: the garbage collector ends them, with their
  // grace period.
  if ((*object)["metadata"].contains("deletionTimestamp")) {
    job.metadata.finalizers = (*object)["metadata"].value("finalizers", std::vector<std::string>());
    return SetFinalizer(job, false);
  }
  const nlohmann::json status = object->value("status", nlohmann::json::object());
  api::FieldErrors errors;
  api::FieldReader in(&status, "status", api::UnknownFields::kIgnore, &errors);
  std::vector<api::Condition> conditions = api::ReadConditions(in);
  const std::int64_t generation = object->value("/metadata/generation"_json_pointer, 0);
  if (!api::SetCondition(
          conditions, {"Planned", api::ConditionStatus::kFalse, "Invalid", problem, generation, 0},
          clock_.WallMs())) {
    return absl::OkStatus();
  }
  YM_RETURN_IF_ERROR(
      PatchJobStatus(client_, cache_, job, {{"conditions", api::EncodeConditions(conditions)}}));
  EmitEvent(job, true, "Invalid", problem);
  return absl::OkStatus();
}

void JobController::KeepFormerPods(const api::TrainingJob& job, const JobObservation& observed,
                                   const JobStep& step) {
  const std::string key = kube::MakeKey(job.metadata.namespace_name, job.metadata.name);
  if (step.recovery.active() == nullptr) return former_pods_.Drop(key);
  const auto keep = [&](int rank) {
    auto pod = cache_.FindPod(
        kube::MakeKey(job.metadata.namespace_name, PodName(job.metadata.name, rank)));
    if (pod != nullptr && !pod->gated()) former_pods_.Keep(key, rank, std::move(pod));
  };
  for (const Removal& removal : step.remove) {
    if (!removal.surplus && removal.rank < observed.ranks()) keep(removal.rank);
  }
  for (int rank = 0; rank < observed.ranks(); ++rank) {
    if (observed.workers[static_cast<std::size_t>(rank)].deleting) keep(rank);
  }
}

bool JobController::KeepsPlaces(const api::TrainingJob& job, const JobStep& step) const {
  const api::Incident* active = step.recovery.active();
  // The ranks of a lost segment move together.
  if (active == nullptr || !active->segment.empty() || placer_.GangOf(job) == nullptr) return false;
  const std::string key = kube::MakeKey(job.metadata.namespace_name, job.metadata.name);
  return std::any_of(step.create.begin(), step.create.end(),
                     [&](int rank) { return former_pods_.Find(key, rank) != nullptr; });
}

std::optional<WorkerPlace> JobController::PlaceOfRank(const api::TrainingJob& job,
                                                      const api::Gang& gang, int rank) const {
  const auto pod =
      former_pods_.Find(kube::MakeKey(job.metadata.namespace_name, job.metadata.name), rank);
  if (pod == nullptr || pod->node_name.empty()) return std::nullopt;
  const auto node = cache_.FindNode(pod->node_name);
  auto place = PlaceAgain(job, rank, {pod.get(), &gang, node.get(), clock_.WallMs()});
  // Last of all: to ask for a host that is out counts against what may be lost at a time.
  const std::int64_t grace_ms = std::int64_t{1000} * job.recovery.host_grace_seconds;
  const bool healthy = place && hosts_.Assess(pod->node_name, grace_ms, clock_.SteadyMs()).state ==
                                    HostHealthState::kHealthy;
  return healthy ? std::move(place) : std::nullopt;
}

absl::StatusOr<std::size_t> JobController::Make(const api::TrainingJob& job,
                                                const JobPlacer::Way& way, const JobStep& step,
                                                const CreateLimit& limit, StallReason& stall,
                                                TurnResult& result) {
  YM_ASSIGN_OR_RETURN(const bool awaits_place, placer_.AwaitsNextPlace(job));
  if (awaits_place) {
    result.waits = true;
    return step.create.size();
  }
  if (way.making == JobPlacer::Making::kAsk) {
    YM_RETURN_IF_ERROR(placer_.Ask(job, way, stall, result));
    return 1;
  }
  if (way.making == JobPlacer::Making::kPlaced) {
    return placer_.Make(job, way, step, limit.pods < kPlacedTurn.pods ? kPlacedTurn : limit, stall,
                        result);
  }
  const bool keeps_places = KeepsPlaces(job, step);
  std::shared_ptr<const api::Gang> gang;
  if (keeps_places || placer_.IsPlacedFirst(job)) {
    YM_ASSIGN_OR_RETURN(gang, placer_.ReadGang(job));
  }
  // The watch, which is behind, will report it.
  if (gang != nullptr && JobPlacer::HasLostPlace(job, *gang)) {
    result.waits = true;
    return step.create.size();
  }
  return writes_.Create(
      job, step.create,
      [&](int rank) {
        return keeps_places && gang != nullptr ? PlaceOfRank(job, *gang, rank) : std::nullopt;
      },
      limit, stall);
}

absl::Status JobController::Act(api::TrainingJob& job, const JobObservation& observed,
                                const JobStep& step, const CreateLimit& limit, StallReason& stall,
                                TurnResult& result) {
  absl::Status fenced;
  for (const std::string& host : step.fence) fenced.Update(marker_.Fence(host));
  YM_RETURN_IF_ERROR(fenced);
  absl::Status done = writes_.Remove(job, step.remove);
  if (done.ok()) done = writes_.Mark(job, step.in_place);
  absl::StatusOr<std::size_t> left = LacksService(job, step) ? 1 : step.create.size();
  const JobPlacer::Way way = stall.exists() ? JobPlacer::Way() : placer_.WayOf(job, observed, step);
  if (*left > 0 && way.making == JobPlacer::Making::kAsk) left = 1;
  result.waits = way.making == JobPlacer::Making::kWait;
  result.has_hosts = way.making == JobPlacer::Making::kPlaced;
  if (way.again_ms > 0) result.LookAgain(way.again_ms);
  if (!stall.exists() && *left > 0 && limit.pods > 0 && done.ok() && !result.waits) {
    left = Make(job, way, step, limit, stall, result);
    done = left.status();
    if (IsRefusal(done) && way.making != JobPlacer::Making::kAsk) placer_.NoteRefusal(job);
  }
  const bool all_made = done.ok() && *left == 0;
  const bool asked = done.ok() && way.making == JobPlacer::Making::kAsk && result.waits;
  // What was asked for holds until the pods are there, or are refused.
  if (all_made || stall.exists())
    placer_.Forget(kube::MakeKey(job.metadata.namespace_name, job.metadata.name));
  absl::Status said;
  if (all_made || asked || stall.exists()) {
    said = SetStalled(job, step, stall.exists() ? stall : step.no_progress,
                      asked ? "AwaitingHosts" : ReasonOfNoStall(job, observed, step));
  }
  YM_RETURN_IF_ERROR(said);
  YM_RETURN_IF_ERROR(done);
  // What is in the way is looked at again in its own time.
  result.pods_left = stall.exists() ? 0 : *left;
  return absl::OkStatus();
}

void JobController::AnnounceMove(const api::TrainingJob& job, const api::JobMove& before) {
  const api::JobMove& move = job.status.move;
  if (move.id == before.id && move.state == before.state) return;
  switch (move.state) {
    case api::JobMoveState::kDone:
      return EmitEvent(job, false, "MoveDone", StrCat("the job has moved: ", move.message));
    case api::JobMoveState::kRefused:
    case api::JobMoveState::kAbandoned:
      return EmitEvent(job, true, "NotMoved",
                       StrCat("the job is not moved to other hosts: ", move.message));
    default:
      return;
  }
}

// One event an incident, and one for the end.
void JobController::Announce(const api::TrainingJob& job, const JobStep& step,
                             const api::TrainingJob& before) {
  const api::RecoveryState& recovery = step.recovery;
  if (step.decided && recovery.attempt != before.status.recovery.attempt) {
    EmitEvent(job, !step.begins_move, step.begins_move ? "Moving" : "Recovering",
              recovery.incidents.back().message);
  }
  AnnounceMove(job, before.status.move);
  const api::Condition* held = api::FindCondition(job.status.conditions, "Degraded");
  const api::Condition* was = api::FindCondition(before.status.conditions, "Degraded");
  if (!step.held.empty() && held != nullptr && held->reason == "RecoveryHeld" &&
      (was == nullptr || was->reason != held->reason)) {
    EmitEvent(job, true, "RecoveryHeld", step.held);
  }
  if (held != nullptr && held->reason == "HeldBack" &&
      (was == nullptr || was->reason != held->reason)) {
    EmitEvent(job, true, "HeldBack", step.degraded);
  }
  if (step.outcome == JobOutcome::kSucceeded) {
    EmitEvent(job, false, "Succeeded",
              api::FindCondition(job.status.conditions, "Succeeded")->message);
  } else if (step.outcome == JobOutcome::kFailed) {
    EmitEvent(job, true, "Failed", recovery.incidents.back().message);
  }
}

absl::StatusOr<std::optional<std::int64_t>> JobController::Reconcile(const std::string& key) {
  YM_ASSIGN_OR_RETURN(const TurnResult result, RunOnce(key, JobTurn::kWhole));
  return result.look_again_ms;
}

absl::StatusOr<TurnResult> JobController::RunOnce(const std::string& key, JobTurn turn) {
  const TurnResult nothing;
  const std::string unreadable = cache_.ProblemOf(state::Kind::kTrainingJob, key);
  if (!unreadable.empty()) {
    YM_RETURN_IF_ERROR(RefuseUnreadable(key, unreadable));
    return nothing;
  }
  const auto found = cache_.FindJob(key);
  if (found == nullptr) {
    former_pods_.Drop(key);
    Forget(key);
    return nothing;
  }
  const std::string& managed_by = found->run.managed_by;
  if (!managed_by.empty() && managed_by != api::kManagedByOperator) return nothing;
  if (found->metadata.deleted_ms || found->status.ended()) {
    Forget(key);
    YM_ASSIGN_OR_RETURN(const auto again,
                        found->metadata.deleted_ms ? ShutDown(*found) : CleanUp(*found));
    return TurnResult{again, 0};
  }
  const std::string contradiction = ContradictionOf(*found);
  if (!contradiction.empty()) {
    YM_RETURN_IF_ERROR(Refuse(*found, contradiction));
    return nothing;
  }
  return Step(*found, turn);
}

absl::StatusOr<TurnResult> JobController::Step(const api::TrainingJob& found, JobTurn turn) {
  api::TrainingJob job = found;
  StallReason stall;
  api::CheckpointMark checkpoint;
  JobObservation observed = observer_.Observe(job, stall, checkpoint);
  SizeDecision resize = DecideElastic(job, observed);
  // On the way to another size it has no pods, as while it is suspended.
  observed.run.suspended |=
      (resize.target != 0 && !resize.in_place) || job.status.elastic.target != 0;
  const auto gang = placer_.GangOf(job);
  MoveStep move = NextMove(job, gang.get(), observed.now_ms, least_run_ms_);
  observed.moves = move.ready;
  const std::string key = kube::MakeKey(job.metadata.namespace_name, job.metadata.name);
  observed.has_gone_on = last_waits_.HasGoneOn(key, observed);
  JobStep step = NextStep(observed);
  if (step.no_progress.exists()) {
    last_waits_.Note(key, observed);
  } else if (!NoProgressMs(job)) {
    last_waits_.Forget(key);
  }
  if (step.begins_move) BeginMoving(step.recovery.attempt, move.move);
  // An incident comes first: it names its ranks in the size that the job has.
  if (step.decided && resize.in_place) resize = {0, "", kResizedAgainMs};
  for (const auto& again_ms : {resize.look_again_ms, move.look_again_ms}) {
    if (!again_ms) continue;
    step.look_again_ms = std::min(step.look_again_ms.value_or(*again_ms), *again_ms);
  }
  if (step.decided) {
    YM_ASSIGN_OR_RETURN(const bool confirmed, IsConfirmed(job, step));
    if (!confirmed) return TurnResult{kUnconfirmedAgainMs, 0};
  }
  api::TrainingJobStatus status = StatusOf(job, gang.get(), step, clock_.WallMs());
  status.rendezvous_port = ChoosePort(job);
  SetSize(job, gang.get(), step, resize, clock_.WallMs(), status);
  status.move = std::move(move.move);
  if (job.status.elastic.target != 0 && status.elastic.target == 0) {
    YM_ASSIGN_OR_RETURN(const bool holds_hosts, HoldsHosts(job));
    if (holds_hosts) return TurnResult{kUnconfirmedAgainMs, 0};
  }
  SetCheckpoint(job, checkpoint, observed.now_ms, status);
  AddLostWork(job, observed.now_ms, status);
  if (const std::int64_t wait_ms = statuses_.WaitMs(job, status, placer_.Asks(job)); wait_ms > 0) {
    step.look_again_ms = std::min(step.look_again_ms.value_or(wait_ms), wait_ms);
    status = job.status;
  }
  const absl::Status written = WriteStatus(job, status);
  if (absl::IsNotFound(written)) return TurnResult();
  YM_RETURN_IF_ERROR(written);
  CountLostWork(found.status, status);
  if (resize.target != 0) EmitEvent(job, false, "Resizing", resize.why);
  // What follows is of the size that it has had until now.
  if (resize.in_place) return TurnResult{kResizedAgainMs, 0};
  Announce(job, step, found);
  KeepFormerPods(job, observed, step);
  return CarryOut(job, observed, step, turn, stall);
}

absl::StatusOr<TurnResult> JobController::CarryOut(api::TrainingJob& job,
                                                   const JobObservation& observed,
                                                   const JobStep& step, JobTurn turn,
                                                   StallReason& stall) {
  if (step.request_checkpoint_ms != 0) {
    YM_RETURN_IF_ERROR(writes_.RequestCheckpoint(job, observed, step.request_checkpoint_ms));
  }
  TurnResult result{step.look_again_ms, 0};
  const auto again = [&](std::int64_t in_ms) {
    result.look_again_ms = std::min(result.look_again_ms.value_or(in_ms), in_ms);
  };
  // It waits for its next try, and others may have what it has.
  const bool looks = turn == JobTurn::kLook && (!step.create.empty() || LacksService(job, step));
  if (looks && WasRefused(job) && !placer_.HasAsked(job)) {
    YM_RETURN_IF_ERROR(placer_.TakeBack(job, api::GangPods::kRefused));
  }
  if (looks || placer_.IsTakenBack(job)) {
    result.taken_back = std::min(step.give_back.size(), kTurnPods);
    const auto begin = step.give_back.begin();
    YM_RETURN_IF_ERROR(
        writes_.Remove(job, {begin, begin + static_cast<std::ptrdiff_t>(result.taken_back)}));
    if (result.taken_back < step.give_back.size()) again(kTakeBackAgainMs);
  }
  if (stall.exists() && step.pods == 0) {
    YM_RETURN_IF_ERROR(placer_.TakeBack(job, api::GangPods::kFirst));
  }
  const CreateLimit limit = LimitOf(turn, job);
  // Those who hold it are to go before what it holds (pod_compute_domain.h).
  const bool shuts_down =
      job.checkpoint.request == api::CheckpointRequest::kAnnotation || job.compute_domain;
  if (!step.create.empty() && limit.pods > 0 && shuts_down) {
    YM_RETURN_IF_ERROR(SetFinalizer(job, true));
  }
  YM_RETURN_IF_ERROR(Act(job, observed, step, limit, stall, result));
  if (stall.exists()) again(kNameTakenAgainMs);
  return result;
}

}  // namespace yardmaster::op
