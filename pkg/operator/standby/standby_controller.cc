#include "pkg/operator/standby/standby_controller.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/gang.h"
#include "pkg/api/metadata.h"
#include "pkg/api/refusals.h"
#include "pkg/api/standby.h"
#include "pkg/api/status_text.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/object.h"
#include "pkg/operator/job_status_patch.h"
#include "pkg/operator/jobs/place_request.h"
#include "pkg/operator/jobs/refusal_reason.h"
#include "pkg/operator/pods/standby_pod.h"
#include "pkg/operator/standby/standby_hosts.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

bool IsOurs(const api::TrainingJob& job) {
  return job.run.managed_by.empty() || job.run.managed_by == api::kManagedByOperator;
}

// By its spec and status the job runs on hosts of the cluster, or is to.
bool MayHaveStandbys(const api::TrainingJob& job) {
  const api::TrainingJobStatus& status = job.status;
  return job.recovery.standby > 0 && IsOurs(job) && !job.metadata.deleted_ms && !status.ended() &&
         !job.run.suspended && !status.recovery.suspended && !status.queue.holds_job() &&
         !status.capacity.active();
}

// It is about to have other hosts.
bool HostsChange(const api::TrainingJob& job, const plan::JobState& placed) {
  return !placed.lost_ranks.empty() || placed.next.has_value() || job.status.move.active() ||
         job.status.elastic.target != 0;
}

std::optional<plan::JobId> FindJob(const plan::Snapshot& snapshot, const NamespacedName& key) {
  const auto at = std::lower_bound(
      snapshot.jobs.begin(), snapshot.jobs.end(), key,
      [](const plan::JobState& job, const NamespacedName& wanted) { return job.job.key < wanted; });
  if (at == snapshot.jobs.end() || at->job.key != key) return std::nullopt;
  return plan::JobId(static_cast<std::int32_t>(at - snapshot.jobs.begin()));
}

std::vector<std::string> HostsRefused(const api::TrainingJob& job, const api::Gang& gang,
                                      std::int64_t now_ms) {
  std::vector<std::string> out = api::RefusedHosts(gang.status, now_ms);
  for (const api::AvoidedHost& avoided : job.status.recovery.avoided) {
    if (avoided.until_ms > now_ms) out.push_back(avoided.host);
  }
  return out;
}

// A round searches for so long, and the next one begins so many times as long after it: jobs take
// turns, and searches never cost more than a twentieth of a core.
constexpr std::int64_t kRoundMs = 250;
constexpr std::int64_t kPause = 20;

// The pod belongs to the job of this uid in its namespace; empty: it is no standby.
std::string JobUidOf(const api::Pod& pod) {
  const auto label = api::Find(pod.metadata.labels, api::kStandbyLabel);
  const api::OwnerReference* owner = pod.metadata.controller();
  const bool is_standby =
      label && owner != nullptr && owner->kind == api::kTrainingJobKind && owner->name == *label;
  return is_standby ? owner->uid : "";
}

bool IsRefusedIn(const std::vector<api::Standby>& status, const std::string& pod) {
  return std::any_of(status.begin(), status.end(), [&](const api::Standby& one) {
    return one.pod == pod && one.state == api::StandbyState::kRefused;
  });
}

}  // namespace

StandbyController::StandbyController(kube::Client& client, state::ClusterCache& cache,
                                     const Clock& clock, Notify notify,
                                     std::function<bool()> may_write)
    : client_(client),
      cache_(cache),
      clock_(clock),
      notify_(std::move(notify)),
      may_write_(std::move(may_write)) {}

void StandbyController::Forget() {
  memories_.clear();
  last_ = {};
  not_before_ms_ = 0;
  builder_ = state::SnapshotBuilder();
}

RunResult StandbyController::RunOnce() {
  const std::int64_t begin_ms = clock_.SteadyMs();
  if (begin_ms < not_before_ms_) return {};
  searched_ms_ = 0;
  const state::ClusterState cluster = cache_.Take();
  // By the namespace and uid of the job: a pod of another namespace may name any uid.
  std::map<std::pair<std::string, std::string>, Pods> pods;
  for (const auto& pod : cluster.pods) {
    if (std::string job = JobUidOf(*pod); !job.empty()) {
      pods[{pod->metadata.namespace_name, std::move(job)}].push_back(pod);
    }
  }
  const auto pods_of = [&](const api::TrainingJob& job) {
    const auto found = pods.find({job.metadata.namespace_name, job.metadata.uid});
    return found == pods.end() ? Pods() : found->second;
  };
  std::vector<std::shared_ptr<const api::TrainingJob>> jobs;
  std::set<std::string> seen;
  bool any = false;
  for (const auto& job : cluster.jobs) {
    if (!IsOurs(*job)) continue;
    if (job->recovery.standby == 0 && job->status.standby.empty() && pods_of(*job).empty())
      continue;
    any |= MayHaveStandbys(*job);
    seen.insert(job->metadata.uid);
    jobs.push_back(job);
  }
  std::erase_if(memories_, [&](const auto& known) { return seen.count(known.first) == 0; });
  // Behind the last one that was looked at.
  std::stable_partition(jobs.begin(), jobs.end(),
                        [&](const auto& job) { return KeyOf(job->metadata) > last_; });
  std::optional<plan::Snapshot> snapshot;
  if (any) snapshot = builder_.Build(cluster);
  const std::int64_t build_ms = clock_.SteadyMs() - begin_ms;
  RunResult result;
  for (const auto& job : jobs) {
    // After a failure the API server may not answer at all.
    if (!may_write_() || !result.ok() || searched_ms_ > kRoundMs) break;
    last_ = KeyOf(job->metadata);
    result.Fail(last_.text(), Contain([&] {
                  return Reconcile(*job, cluster, snapshot ? &*snapshot : nullptr, pods_of(*job));
                }));
    ++result.done;
  }
  not_before_ms_ = clock_.SteadyMs() + kPause * (build_ms + searched_ms_);
  return result;
}

bool StandbyController::Want(const api::TrainingJob& job, const state::ClusterState& cluster,
                             const plan::Snapshot* snapshot, StandbyView& view,
                             std::vector<json>& manifests) {
  const NamespacedName key{job.metadata.namespace_name,
                           api::GangName(api::kTrainingJobKind, job.metadata.name)};
  const auto gang = cluster.gangs.Find(key);
  view.ends = snapshot == nullptr || !MayHaveStandbys(job) || gang == nullptr ||
              !IsGangOf(*gang, job) || !HasPlace(*gang);
  if (view.ends) return true;
  const std::optional<plan::JobId> id = FindJob(*snapshot, key);
  // The Gang and the Nodes may be as yet out of step.
  if (!id || !snapshot->jobs[id->index()].assignment) return false;
  if (HostsChange(job, snapshot->jobs[id->index()])) return false;
  const std::int64_t begin_ms = clock_.SteadyMs();
  StandbyHosts found =
      FindStandbyHosts(*snapshot, *id, HostsRefused(job, *gang, view.now_ms), job.recovery.standby);
  searched_ms_ += clock_.SteadyMs() - begin_ms;
  view.short_of = std::move(found.short_of);
  for (std::string& host : found.hosts) {
    manifests.push_back(BuildStandbyPod(job, host));
    view.wanted.push_back({std::move(host), kube::NameOf(manifests.back())});
  }
  return true;
}

absl::Status StandbyController::Reconcile(const api::TrainingJob& found,
                                          const state::ClusterState& cluster,
                                          const plan::Snapshot* snapshot, Pods pods) {
  StandbyView view;
  view.pods = std::move(pods);
  view.now_ms = clock_.WallMs();
  std::vector<json> manifests;
  if (!Want(found, cluster, snapshot, view, manifests)) return absl::OkStatus();
  StandbyMemory& memory = memories_[found.metadata.uid];
  StandbyStep step = NextStandbyStep(view, memory);
  if (step.stays) return absl::OkStatus();
  absl::Status done;
  for (const auto& pod : step.remove) done.Update(Remove(*pod));
  for (const std::size_t i : step.create) {
    const auto status =
        std::find_if(step.status.begin(), step.status.end(),
                     [&](const api::Standby& one) { return one.pod == view.wanted[i].pod; });
    done.Update(Create(found, manifests[i], memory, *status));
  }
  // What could not be done is tried again, and is not said before.
  YM_RETURN_IF_ERROR(done);
  return WriteStatus(found, std::move(step.status));
}

absl::Status StandbyController::Create(const api::TrainingJob& job, const json& pod,
                                       StandbyMemory& memory, api::Standby& status) {
  if (!may_write_()) return absl::UnavailableError("this process does not lead any more");
  const auto made = client_.Create(TargetOf(kube::Pods(), job), pod, {kFieldManager});
  std::string refusal;
  if (IsRefusal(made.status())) {
    refusal = StrCat("the pod is refused: ", MessageOf(made.status()));
  } else if (absl::IsAlreadyExists(made.status())) {
    // The cache may be behind, and not have ours yet.
    const auto there = cache_.FindPod(kube::MakeKey(job.metadata.namespace_name, status.pod));
    if (there == nullptr || JobUidOf(*there) == job.metadata.uid) return absl::OkStatus();
    refusal = StrCat("pod ", status.pod, " exists and does not belong to this job; delete it");
  }
  if (!refusal.empty()) {
    NoteRefusal(status.pod, api::CutStatusText(refusal), clock_.WallMs(), memory);
    status.state = api::StandbyState::kRefused;
    status.message = memory.refusals[status.pod].message;
    return absl::OkStatus();
  }
  YM_RETURN_IF_ERROR(made.status());
  cache_.Assume(state::Kind::kPod, *made);
  return absl::OkStatus();
}

absl::Status StandbyController::Remove(const api::Pod& pod) {
  if (!may_write_()) return absl::UnavailableError("this process does not lead any more");
  kube::DeleteOptions options;
  options.uid = pod.metadata.uid;
  const absl::Status deleted =
      client_.Delete({kube::Pods(), pod.metadata.namespace_name, pod.metadata.name, ""}, options);
  return kube::IsGone(deleted) || absl::IsFailedPrecondition(deleted) ? absl::OkStatus() : deleted;
}

absl::Status StandbyController::WriteStatus(const api::TrainingJob& found,
                                            std::vector<api::Standby> status) {
  if (status == found.status.standby) return absl::OkStatus();
  if (!may_write_()) return absl::UnavailableError("this process does not lead any more");
  api::TrainingJob job = found;
  json list = json::array();
  for (api::Standby& one : status) list.push_back(api::EncodeObject(one));
  const absl::Status written =
      PatchJobStatus(client_, cache_, job, {{"standby", list.empty() ? json() : list}});
  // It has changed, or is gone: the next round sees that.
  if (absl::IsAborted(written) || absl::IsNotFound(written)) return absl::OkStatus();
  YM_RETURN_IF_ERROR(written);
  for (const api::Standby& one : status) {
    if (one.state != api::StandbyState::kRefused || IsRefusedIn(found.status.standby, one.pod)) {
      continue;
    }
    notify_({job.metadata.namespace_name, job.metadata.name, job.metadata.uid, true,
             "StandbyRefused",
             StrCat("the images are not pulled on host ", one.host, ": ", one.message)});
  }
  return absl::OkStatus();
}

}  // namespace yardmaster::op
