#include "pkg/extender/facts/placed_first.h"

#include <memory>

#include "pkg/api/training_job.h"
#include "pkg/gather/pods_to_come.h"

namespace yardmaster::extender {

namespace {

std::shared_ptr<const api::TrainingJob> OwnerOf(const PassFacts& facts, const api::Gang& gang) {
  if (gang.owner.kind != api::kTrainingJobKind) return nullptr;
  auto job = facts.cluster.jobs.Find({gang.metadata.namespace_name, gang.owner.name});
  return job != nullptr && job->metadata.uid == gang.owner.uid ? job : nullptr;
}

bool WantsPods(const api::TrainingJob& job) {
  const api::TrainingJobStatus& status = job.status;
  return !job.metadata.deleted_ms && !job.run.suspended && !status.ended() &&
         !status.recovery.suspended && !status.capacity.holds_job() && !status.queue.holds_job() &&
         status.elastic.target == 0;
}

bool HasLivePod(const gather::GatheredGang* gathered) {
  return gathered != nullptr &&
         !(gathered->members.empty() && gathered->leaving.empty() && gathered->strays.empty());
}

}  // namespace

bool MayBePlacedFirst(const PassFacts& facts, const api::Gang& gang) {
  if (gang.pods != api::GangPods::kFollow || gang.metadata.deleted_ms) return false;
  const gather::GatheredGang* gathered = facts.GatheredOf(KeyOf(gang.metadata));
  if (HasLivePod(gathered)) return false;
  if (gather::IsOfSuspendedJob(gang)) return true;
  if (gathered != nullptr && gathered->finished > 0) return false;
  const auto job = OwnerOf(facts, gang);
  return job != nullptr && WantsPods(*job) && job->job.workers == gang.job.workers;
}

std::vector<std::string> AvoidedByJob(const PassFacts& facts, const api::Gang& gang) {
  std::vector<std::string> hosts;
  if (gang.pods != api::GangPods::kFollow) return hosts;
  const auto job = OwnerOf(facts, gang);
  if (job == nullptr) return hosts;
  for (const api::AvoidedHost& host : job->status.recovery.avoided) {
    if (host.until_ms > facts.now.wall_ms) hosts.push_back(host.host);
  }
  return hosts;
}

}  // namespace yardmaster::extender
