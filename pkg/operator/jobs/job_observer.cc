#include "pkg/operator/jobs/job_observer.h"

#include <algorithm>

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/gather/pods_to_come.h"
#include "pkg/operator/capacity/capacity_observer.h"
#include "pkg/operator/jobs/job_end.h"
#include "pkg/operator/jobs/job_hold.h"
#include "pkg/operator/jobs/place_request.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {

namespace {

// A segment may be up again without a change of the host that is looked at.
constexpr std::int64_t kSegmentAgainMs = 5'000;
constexpr std::int64_t kClockDifferenceMs = 5'000;
constexpr std::int64_t kHeldBackAgainMs = 60'000;
// A job whose hosts grow slow one after the other does not restart for each of them.
constexpr std::int64_t kLeaveAgainMs = 3'600'000;
// As long as a host is avoided for it.
constexpr std::int64_t kUnevenMs = 24 * kLeaveAgainMs;

WorkerPhase PhaseOf(const api::Pod& pod) {
  if (pod.phase == "Succeeded") return WorkerPhase::kSucceeded;
  if (pod.phase == "Failed") return WorkerPhase::kFailed;
  if (pod.phase == "Running") return WorkerPhase::kRunning;
  return pod.gated() ? WorkerPhase::kGated : WorkerPhase::kPending;
}

std::int64_t NumberOf(const api::Pod& pod, const char* annotation) {
  const auto text = api::Find(pod.metadata.annotations, annotation);
  return text ? ParseNumber<std::int64_t>(*text).value_or(0) : 0;
}

// Which attempt the pod is in, and what it was asked for.
void ReadAttempt(const api::Pod& pod, Worker& worker) {
  worker.attempt = NumberOf(pod, api::kAttemptAnnotation);
  worker.restartable =
      api::Find(pod.metadata.annotations, api::kRestartGenerationAnnotation).has_value();
  if (!worker.restartable) return;
  worker.ends = pod.container_ends;
  worker.attempt_ends = static_cast<int>(NumberOf(pod, api::kAttemptEndsAnnotation));
  worker.restart_generation = NumberOf(pod, api::kRestartGenerationAnnotation);
  if (!pod.container_running && worker.phase == WorkerPhase::kRunning) {
    worker.phase = WorkerPhase::kStarting;
  }
  if (worker.restart_generation <= worker.attempt || worker.ends <= worker.attempt_ends) return;
  worker.attempt = worker.restart_generation;
  ++worker.attempt_ends;
}

// Containers may have restarted inside their pods so fast that no look saw the job without them:
// Running stayed True, and an incident tells of it.
std::int64_t RunningSince(const api::Condition& running, const api::RecoveryState& recovery) {
  if (recovery.incidents.empty()) return running.transition_ms;
  const api::Incident& last = recovery.incidents.back();
  return std::max(running.transition_ms, last.end_ms != 0 ? last.end_ms : last.start_ms);
}

// By its spec or by a deletion: what it waits for on its hosts does not matter any more.
bool LeavesItsHosts(const api::TrainingJob& job) {
  return job.run.suspended || job.status.queue.holds_job() || job.metadata.deleted_ms.has_value();
}

// Why the job does not leave a host that holds it back; empty: it does.
std::string WhyJobStays(const api::TrainingJob& job, const HeldBack& held, std::int64_t warm_up_ms,
                        std::int64_t now_ms) {
  const bool slow = held.slow_rank >= 0;
  if (slow ? job.recovery.on_slow_host != api::OnSlowHost::kReplace
           : job.recovery.on_bandwidth_loss != api::OnBandwidthLoss::kReplace) {
    return StrCat("spec.recovery.", slow ? "onSlowHost" : "onBandwidthLoss",
                  " is Keep; Replace moves the ranks there");
  }
  if (LeavesItsHosts(job)) return "it leaves all its hosts";
  if (job.status.capacity.active()) return "its hosts are rented";
  if (job.status.recovery.active() != nullptr) return "it is recovering";
  const api::Condition* running = api::FindCondition(job.status.conditions, "Running");
  if (slow && (running == nullptr || running->status != api::ConditionStatus::kTrue ||
               now_ms - RunningSince(*running, job.status.recovery) < warm_up_ms)) {
    return StrCat("it has run for less than ", warm_up_ms / 1000, " s");
  }
  for (const api::Incident& incident : job.status.recovery.incidents) {
    const bool was_slow = incident.cause == api::IncidentCause::kSlowHost;
    if (!was_slow && incident.cause != api::IncidentCause::kHostFault) continue;
    const std::int64_t age_ms = now_ms - incident.start_ms;
    if (age_ms < 0) continue;  // a clock was ahead
    if (slow && was_slow && incident.first_rank == held.slow_rank && incident.host != held.host &&
        age_ms < kUnevenMs) {
      return StrCat("rank ", held.slow_rank, " was slow on host ", incident.host,
                    ", too, so that the host is not the cause");
    }
    if (age_ms < kLeaveAgainMs) {
      return "it left another host less than an hour ago";
    }
  }
  return "";
}

}  // namespace

Worker JobObserver::ObserveWorker(const api::TrainingJob& job, int rank, StallReason& stall,
                                  api::CheckpointMark& checkpoint) const {
  Worker worker;
  const std::string name = MemberName(job, rank);
  const auto pod = cache_.FindPod(StrCat(job.metadata.namespace_name, "/", name));
  if (pod == nullptr) return worker;
  const api::OwnerReference* owner = pod->metadata.controller();
  if (owner == nullptr || owner->uid != job.metadata.uid) {
    // A pod of an earlier job of this name is on its way out.
    const bool earlier = owner != nullptr && owner->kind == api::kTrainingJobKind &&
                         owner->name == job.metadata.name;
    if (!earlier && !stall.exists()) {
      stall = {kNameTaken, StrCat("metadata.name: pod ", name,
                                  " exists and does not belong to this job; delete the pod or "
                                  "create the job under another name")};
    }
    return worker;
  }
  worker.phase = PhaseOf(*pod);
  worker.deleting = pod->metadata.deleted_ms.has_value();
  worker.uid = pod->metadata.uid;
  worker.host = pod->node_name;
  ReadAttempt(*pod, worker);
  worker.exits = pod->exits;
  worker.final_conditions = pod->final_conditions;
  const auto other_gate =
      std::find_if(pod->scheduling_gates.begin(), pod->scheduling_gates.end(),
                   [](const std::string& gate) { return gate != api::kPlacementGate; });
  if (other_gate != pod->scheduling_gates.end()) worker.other_gate = *other_gate;
  worker.checkpoint_request =
      api::Find(pod->metadata.annotations, api::kCheckpointRequestAnnotation).value_or("");
  const auto progress = api::Find(pod->metadata.annotations, api::kProgressAnnotation);
  if (progress) {
    const auto report = api::DecodeProgressReport(*progress);
    if (report.ok()) worker.progress = *report;
  }
  const auto annotation = api::Find(pod->metadata.annotations, api::kCheckpointAnnotation);
  for (const std::string_view text :
       {annotation.value_or(""), std::string_view(pod->end_message)}) {
    if (text.empty()) continue;
    const auto mark = api::DecodeCheckpointMark(text);
    // A time that is yet to come would answer every later request; clocks may differ by seconds.
    if (!mark.ok() || mark->time_ms > clock_.WallMs() + kClockDifferenceMs) continue;
    if (mark->time_ms > checkpoint.time_ms) checkpoint = *mark;
    if (mark->last) worker.last_checkpoint_ms = mark->time_ms;
  }
  if (!worker.host.empty() && !pod->finished()) {
    worker.host_verdict = hosts_.Assess(
        worker.host, std::int64_t{1000} * job.recovery.host_grace_seconds, clock_.SteadyMs());
    if (rank < job.job.workers) ObserveHeldBack(job, worker);
    const auto node = cache_.FindNode(worker.host);
    worker.host_gone = node == nullptr;
    if (worker.host_verdict.state == HostHealthState::kLost &&
        !worker.host_verdict.segment.empty() &&
        job.recovery.on_segment_loss == api::OnSegmentLoss::kWait && !LeavesItsHosts(job)) {
      worker.host_verdict.state = HostHealthState::kHeld;
      worker.host_verdict.again_ms = kSegmentAgainMs;
      worker.host_verdict.reason = StrCat(
          "segment ", worker.host_verdict.segment,
          " is lost and spec.recovery.onSegmentLoss is Wait: the workers there stay until it "
          "is back; set Move to have them moved");
    }
    // The rental's step is about to take the job away from it (capacity_step.h).
    if (LeavesRental(job, node.get(), worker.host_verdict)) {
      worker.host_verdict.state = HostHealthState::kNotReady;
    }
    if (worker.host_verdict.state == HostHealthState::kLost) {
      worker.host_fenced = marker_.IsFenced(worker.host);
      worker.fence_wait_ms = marker_.FenceWaitMs(worker.host_verdict.not_ready_ms);
    }
  }
  return worker;
}

void JobObserver::ObserveHeldBack(const api::TrainingJob& job, Worker& worker) const {
  HostVerdict& verdict = worker.host_verdict;
  if (verdict.state != HostHealthState::kHealthy) return;
  const std::string key = StrCat(job.metadata.namespace_name, "/", job.metadata.name);
  HostVerdict held = hosts_.AssessHeldBack(
      key, worker.host,
      [&](const HeldBack& found) {
        return WhyJobStays(job, found, hosts_.slow_limits().warm_up_ms, clock_.WallMs());
      },
      clock_.SteadyMs());
  if (!held.holds_back) return;
  if (held.again_ms == 0) held.again_ms = kHeldBackAgainMs;
  if (verdict.again_ms > 0) held.again_ms = std::min(held.again_ms, verdict.again_ms);
  held.reclaim = std::move(verdict.reclaim);
  verdict = std::move(held);
}

// A pod that went while no process looked does not say any more where it ran; its Gang does.
bool JobObserver::ObserveSlots(const api::TrainingJob& job, JobObservation& observed) const {
  const auto gang = cache_.FindGang(StrCat(
      job.metadata.namespace_name, "/", api::GangName(api::kTrainingJobKind, job.metadata.name)));
  if (gang == nullptr) return false;
  observed.placed = !gang->status.assignments.empty();
  observed.to_come = IsGangOf(*gang, job) && gather::PodsAreToCome(*gang) &&
                     job.status.recovery.running_attempt < job.status.recovery.attempt;
  for (const api::AssignmentEntry& slot : gang->status.assignments) {
    if (slot.rank < 0 || slot.rank >= observed.ranks()) continue;
    Worker& worker = observed.workers[static_cast<std::size_t>(slot.rank)];
    if (worker.phase == WorkerPhase::kMissing) worker.slot_host = slot.host;
  }
  // The Gang of an earlier job of this name may still be there.
  return gang->status.plan_generation > 0 && gang->owner.uid == job.metadata.uid;
}

void JobObserver::ObserveResize(const api::TrainingJob& job, JobObservation& observed) const {
  const api::ElasticStatus& elastic = job.status.elastic;
  observed.earlier_ranks = api::WorkersBeforeGrowth(job.job, elastic);
  const int end = api::SurplusEndOf(job.job, elastic);
  for (int rank = job.job.workers; rank < end; ++rank) {
    const auto pod =
        cache_.FindPod(StrCat(job.metadata.namespace_name, "/", PodName(job.metadata.name, rank)));
    const api::OwnerReference* owner = pod == nullptr ? nullptr : pod->metadata.controller();
    if (owner == nullptr || owner->uid != job.metadata.uid) continue;
    observed.surplus.push_back({rank, pod->metadata.uid, pod->metadata.deleted_ms.has_value()});
  }
}

JobObservation JobObserver::Observe(const api::TrainingJob& job, StallReason& stall,
                                    api::CheckpointMark& checkpoint) const {
  checkpoint = {job.status.checkpoint.last_ms, job.status.checkpoint.cost_seconds};
  JobObservation observed;
  observed.checkpoint = job.checkpoint;
  observed.policy = job.recovery;
  observed.group_of_rank = api::RestartGroupsOf(job);
  observed.run = job.run;
  // While it waits for quota, and while hosts are chosen, provided or given back, the job has no
  // pods, as if it were suspended.
  observed.run.suspended =
      job.run.suspended || job.status.capacity.holds_job() || job.status.queue.holds_job();
  observed.start_ms = job.status.start_ms;
  observed.recovery = job.status.recovery;
  observed.ended = job.status.ended();
  observed.rented = job.status.capacity.active();
  observed.now_ms = clock_.WallMs();
  const api::Condition* running = api::FindCondition(job.status.conditions, "Running");
  if (running != nullptr && running->status == api::ConditionStatus::kTrue) {
    observed.running_ms = observed.now_ms - RunningSince(*running, job.status.recovery);
  }
  int first = job.job.workers;
  for (const api::JobRole& role : job.roles) {
    observed.roles.push_back(
        {role.name, first, role.replicas, static_cast<api::OnHostLoss>(role.on_failure)});
    first += role.replicas;
  }
  for (int rank = 0; rank < job.members(); ++rank) {
    observed.workers.push_back(ObserveWorker(job, rank, stall, checkpoint));
  }
  const bool was_placed = ObserveSlots(job, observed);
  const bool has_pods =
      std::any_of(observed.workers.begin(), observed.workers.end(),
                  [](const Worker& worker) { return worker.phase != WorkerPhase::kMissing; });
  if (!stall.exists() && !has_pods && !job.run.suspended) stall = HoldReason(job, was_placed);
  observed.checkpoint_ms = checkpoint.time_ms;
  if (job.elastic.enabled) ObserveResize(job, observed);
  // Nothing of ours makes such a pod; it would take part in the job's Service.
  const std::string surplus = PodName(
      job.metadata.name,
      job.elastic.enabled ? api::SurplusEndOf(job.job, job.status.elastic) : job.job.workers);
  const auto pod = cache_.FindPod(StrCat(job.metadata.namespace_name, "/", surplus));
  const api::OwnerReference* owner = pod == nullptr ? nullptr : pod->metadata.controller();
  if (owner != nullptr && owner->uid == job.metadata.uid && !stall.exists()) {
    stall = {"SurplusWorkers",
             StrCat("spec.workers: is ", job.job.workers, " and pod ", surplus,
                    " has a rank above; delete that pod and those of higher ranks")};
  }
  return observed;
}

}  // namespace yardmaster::op
