#include "pkg/operator/jobs/worker_writes.h"

#include <algorithm>
#include <atomic>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/object.h"
#include "pkg/operator/gang_write.h"
#include "pkg/operator/jobs/compute_domain_write.h"
#include "pkg/operator/jobs/refusal_reason.h"
#include "pkg/operator/write_target.h"
#include "pkg/state/template_claims.h"

namespace yardmaster::op {

namespace {

constexpr std::size_t kLargestBatch = 512;

// Grows until all calls are busy; from then on while batches are quick beside the time of a turn,
// and shrinks when one takes longer than that.
std::size_t NextBatch(std::size_t batch, std::int64_t took_ms, const CreateLimit& limit) {
  if (batch < limit.calls) return 2 * batch;
  if (took_ms > limit.duration_ms) return std::max(limit.calls, batch / 2);
  return took_ms > limit.duration_ms / 2 ? batch : std::min(2 * batch, kLargestBatch);
}

// Of the pods of `ranks` the first `from` and `made` more were created, then one was refused.
PodsOfTry TryOf(const api::TrainingJob& job, const std::vector<int>& ranks, std::size_t from,
                int made) {
  const auto workers = static_cast<std::size_t>(job.job.workers);
  // Pods of roles differ from each other.
  if (ranks[from] >= job.job.workers) return {};
  const auto to_make = static_cast<std::size_t>(std::count_if(
      ranks.begin(), ranks.end(), [&](int member) { return member < job.job.workers; }));
  return {job.job.workers, static_cast<std::int64_t>(workers - to_make + from) + made};
}

}  // namespace

absl::Status WorkerWrites::CheckLeads() const {
  return may_write_() ? absl::OkStatus()
                      : absl::UnavailableError("this process does not lead any more");
}

absl::Status WorkerWrites::WriteEach(std::size_t count,
                                     const std::function<absl::Status(std::size_t)>& write,
                                     std::size_t calls) const {
  Mutex mutex;
  absl::Status first_error;
  ParallelFor(count, std::min(threads_, calls), [&](std::size_t i) {
    {
      const MutexLock lock(mutex);
      if (!first_error.ok()) return;
    }
    absl::Status status = CheckLeads();
    if (status.ok()) status = write(i);
    const MutexLock lock(mutex);
    first_error.Update(status);
  });
  return first_error;
}

absl::Status WorkerWrites::EnsureService(const api::TrainingJob& job, Creation& creation,
                                         StallReason& stall) {
  if (creation.has_service) return absl::OkStatus();
  YM_RETURN_IF_ERROR(CheckLeads());
  const absl::Status created = CreateService(job, stall);
  if (IsRefusal(created)) {
    stall = {kServiceRefused, StrCat("metadata.name: the Service of the job is refused: ",
                                     MessageOf(created), "; change what the message names")};
  }
  YM_RETURN_IF_ERROR(created);
  creation.has_service = !stall.exists();
  return absl::OkStatus();
}

absl::Status WorkerWrites::CreateService(const api::TrainingJob& job, StallReason& stall) {
  const std::string& name = job.metadata.name;
  const nlohmann::json service = BuildService(job);
  absl::Status created =
      client_.Create(TargetOf(kube::Services(), job), service, {kFieldManager}).status();
  if (!absl::IsAlreadyExists(created)) return created;
  YM_ASSIGN_OR_RETURN(const nlohmann::json there,
                      client_.Get(TargetOf(kube::Services(), job, name)));
  if (IsOwnedBy(there, job)) return PublishNames(job, service, there);
  stall = {kNameTaken, StrCat("metadata.name: Service ", name,
                              " exists and does not belong to this job; delete the Service or "
                              "create the job under another name")};
  return absl::OkStatus();
}

absl::Status WorkerWrites::TryComputeDomain(const api::TrainingJob& job, StallReason& stall) {
  if (!job.compute_domain) return absl::OkStatus();
  return CreateComputeDomain(client_, job, cache_.Take().devices, /*dry_run=*/true, stall);
}

absl::Status WorkerWrites::EnsureComputeDomain(const api::TrainingJob& job, Creation& creation,
                                               StallReason& stall) {
  if (!job.compute_domain || creation.has_domain) return absl::OkStatus();
  YM_RETURN_IF_ERROR(CheckLeads());
  YM_RETURN_IF_ERROR(
      CreateComputeDomain(client_, job, cache_.Take().devices, /*dry_run=*/false, stall));
  creation.has_domain = !stall.exists();
  return absl::OkStatus();
}

// The job's publish, roles or elastic may be others than when its Service was made.
absl::Status WorkerWrites::PublishNames(const api::TrainingJob& job, const nlohmann::json& service,
                                        const nlohmann::json& there) {
  const auto selector = "/spec/selector"_json_pointer;
  const nlohmann::json& wanted = service.at(selector);
  if (there.value(selector, nlohmann::json::object()) == wanted) return absl::OkStatus();
  const nlohmann::json operations = {
      {{"op", "test"}, {"path", "/metadata/uid"}, {"value", kube::UidOf(there)}},
      {{"op", "add"}, {"path", "/spec/selector"}, {"value", wanted}}};
  return client_
      .Patch(TargetOf(kube::Services(), job, job.metadata.name), kube::JsonPatch(operations),
             {kFieldManager})
      .status();
}

WorkerWrites::Creation WorkerWrites::Begin(const api::TrainingJob& job) {
  const std::int64_t now_ms = clock_.SteadyMs();
  const MutexLock lock(creations_mutex_);
  std::erase_if(creations_,
                [&](const auto& known) { return known.second.begin_ms + kCreationMs <= now_ms; });
  const auto known = creations_.extract(job.metadata.uid);
  if (known && known.mapped().generation == job.metadata.generation) return known.mapped();
  return {job.metadata.generation, now_ms, 1, false, false};
}

void WorkerWrites::StoreCreation(const api::TrainingJob& job, const Creation& creation) {
  const MutexLock lock(creations_mutex_);
  creations_.insert_or_assign(job.metadata.uid, creation);
}

absl::StatusOr<nlohmann::json> WorkerWrites::CreateMember(const api::TrainingJob& job,
                                                          const WorkerShape& shape, int member,
                                                          const WorkerPlace* place) {
  return client_.Create(TargetOf(kube::Pods(), job),
                        member < job.job.workers ? BuildPod(job, shape, member, place)
                                                 : BuildRolePod(job, shape, member),
                        {kFieldManager});
}

WorkerShape WorkerWrites::ShapeOf(const api::TrainingJob& job) const {
  WorkerShape shape{job.job.workers, job.job.gpus_per_worker, job.job.gpu_resource,
                    job.status.recovery.attempt, job.job.parallelism};
  shape.data_groups = api::RestartGroupsOf(job);
  std::vector<std::string> avoided;
  for (const api::AvoidedHost& host : job.status.recovery.avoided) {
    if (host.until_ms > clock_.WallMs()) avoided.push_back(host.host);
  }
  shape.avoid_hosts = Join(avoided, ",");
  if (job.elastic.enabled && job.recovery.on_host_loss == api::OnHostLoss::kReplace) {
    const auto [smallest, largest] = api::WorkerBoundsOf(job.job, job.elastic);
    shape.nodes = StrCat(smallest, ":", largest);
  }
  if (job.pod_template.has_claims()) {
    shape.claims_gpus =
        state::AskForGpus(state::ClaimsOf(job.pod_template), job.metadata.namespace_name,
                          cache_.Take().devices, job.job.gpu_resource);
  }
  shape.claims_channel = job.compute_domain;
  shape.restarts_in_place = job.recovery.in_place_seconds > 0;
  return shape;
}

nlohmann::json WorkerWrites::FirstPodOf(const api::TrainingJob& job) const {
  return BuildPod(job, ShapeOf(job), 0);
}

absl::StatusOr<nlohmann::json> WorkerWrites::TryFirst(const api::TrainingJob& job,
                                                      StallReason& stall) {
  auto pod = client_.Create(TargetOf(kube::Pods(), job), FirstPodOf(job),
                            {.field_manager = kFieldManager, .dry_run = true});
  if (IsRefusal(pod.status())) stall = RefusalReason(pod.status(), {job.job.workers, 0});
  return pod;
}

absl::StatusOr<std::optional<api::Gang>> WorkerWrites::WriteGang(const api::Gang& gang) {
  YM_RETURN_IF_ERROR(CheckLeads());
  return op::WriteGang(client_, cache_, gang);
}

absl::StatusOr<std::size_t> WorkerWrites::Create(const api::TrainingJob& job,
                                                 const std::vector<int>& ranks,
                                                 const PlaceOfRank& place_of,
                                                 const CreateLimit& limit, StallReason& stall) {
  Creation creation = Begin(job);
  if (!ranks.empty()) YM_RETURN_IF_ERROR(EnsureComputeDomain(job, creation, stall));
  if (stall.exists()) return ranks.size();
  // Pods that are there or were refused came after it; and one that is refused again shall cost one
  // request.
  const bool pods_first =
      ranks.size() < static_cast<std::size_t>(job.job.workers) || PodsWereRefused(job);
  if (!pods_first) YM_RETURN_IF_ERROR(EnsureService(job, creation, stall));
  if (stall.exists()) return ranks.size();
  const WorkerShape shape = ShapeOf(job);
  const std::int64_t begin_ms = clock_.SteadyMs();
  const std::size_t end = std::min(ranks.size(), limit.pods);
  std::size_t from = 0;
  while (from < end && clock_.SteadyMs() - begin_ms < limit.duration_ms) {
    const std::int64_t batch_ms = clock_.SteadyMs();
    const std::size_t batch = std::min(creation.batch, end - from);
    std::atomic<int> made = 0;
    const auto create = [&](std::size_t i) {
      const int member = ranks[from + i];
      const auto place = member < job.job.workers ? place_of(member) : std::nullopt;
      auto pod = CreateMember(job, shape, member, place ? &*place : nullptr);
      // A policy may not let a new pod have a place yet: that of an older version of ours.
      if (place && IsRefusal(pod.status())) pod = CreateMember(job, shape, member, nullptr);
      // The next look at the job may come before the watch has reported it.
      if (pod.ok()) cache_.Assume(state::Kind::kPod, *pod);
      made += pod.ok() ? 1 : 0;
      // The cache may be behind: a pod that is there already is what we want.
      return absl::IsAlreadyExists(pod.status()) ? absl::OkStatus() : pod.status();
    };
    const absl::Status status = WriteEach(batch, create, limit.calls);
    if (status.ok()) {
      from += batch;
      creation.batch = NextBatch(creation.batch, clock_.SteadyMs() - batch_ms, limit);
      continue;
    }
    if (IsRefusal(status)) {
      stall = RefusalReason(status, TryOf(job, ranks, from, made));
    }
    return status;
  }
  YM_RETURN_IF_ERROR(EnsureService(job, creation, stall));
  if (from < ranks.size()) StoreCreation(job, creation);
  return ranks.size() - from;
}

absl::Status WorkerWrites::Patch(const api::TrainingJob& job, int rank,
                                 const nlohmann::json& metadata) {
  auto pod = client_.Patch(TargetOf(kube::Pods(), job, MemberName(job, rank)),
                           kube::MergePatch({{"metadata", metadata}}), {kFieldManager});
  if (kube::IsGone(pod.status())) return absl::OkStatus();
  YM_RETURN_IF_ERROR(pod.status());
  cache_.Assume(state::Kind::kPod, *pod);
  return absl::OkStatus();
}

absl::Status WorkerWrites::Mark(const api::TrainingJob& job, const std::vector<InPlace>& marks) {
  return WriteEach(marks.size(), [&](std::size_t i) {
    const InPlace& mark = marks[i];
    return Patch(job, mark.rank,
                 {{"uid", mark.uid},
                  {"annotations",
                   {{api::kAttemptAnnotation, StrCat(mark.attempt)},
                    {api::kAttemptEndsAnnotation, StrCat(mark.attempt_ends)},
                    {api::kRestartGenerationAnnotation, StrCat(mark.restart_generation)}}}});
  });
}

absl::Status WorkerWrites::Remove(const api::TrainingJob& job,
                                  const std::vector<Removal>& removals) {
  return WriteEach(removals.size(), [&](std::size_t i) {
    const Removal& removal = removals[i];
    kube::DeleteOptions options;
    options.uid = removal.uid;
    if (removal.force) options.grace_period_seconds = 0;
    // Numbers above the last rank are those of roles.
    const std::string name =
        removal.surplus ? PodName(job.metadata.name, removal.rank) : MemberName(job, removal.rank);
    const absl::Status deleted = client_.Delete(TargetOf(kube::Pods(), job, name), options);
    return kube::IsGone(deleted) || absl::IsFailedPrecondition(deleted) ? absl::OkStatus()
                                                                        : deleted;
  });
}

absl::Status WorkerWrites::RequestCheckpoint(const api::TrainingJob& job,
                                             const JobObservation& observed, std::int64_t time_ms) {
  const std::string time = FormatTime(time_ms);
  return WriteEach(
      static_cast<std::size_t>(observed.ranks()), [&](std::size_t rank) -> absl::Status {
        const Worker& worker = observed.workers[rank];
        if (worker.phase != WorkerPhase::kRunning || worker.checkpoint_request == time) return {};
        return Patch(
            job, static_cast<int>(rank),
            {{"uid", worker.uid}, {"annotations", {{api::kCheckpointRequestAnnotation, time}}}});
      });
}

}  // namespace yardmaster::op
