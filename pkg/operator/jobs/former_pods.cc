#include "pkg/operator/jobs/former_pods.h"

#include <algorithm>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "pkg/operator/jobs/place_request.h"

namespace yardmaster::op {

namespace {

// All of its pods have been released to the places that it has now.
bool KeepsItsPlace(const api::Gang& gang, const api::TrainingJob& job) {
  return gang.owner.kind == api::kTrainingJobKind && gang.owner.uid == job.metadata.uid &&
         gang.status.committed() && api::IsTrue(gang.status.conditions, api::kReleasedCondition) &&
         !api::IsTrue(gang.status.conditions, api::kPreemptedCondition);
}

// It still holds, and each peer is where the ledger has it.
bool IsOfThesePlaces(const api::PodPathPlan& plan, const api::Gang& gang, std::int64_t now_ms) {
  const auto& slots = gang.status.assignments;
  return plan.expires_ms > now_ms &&
         std::all_of(plan.rails.begin(), plan.rails.end(), [&](const api::RailPaths& rail) {
           return std::all_of(
               rail.peers.begin(), rail.peers.end(), [&](const api::PeerPaths& peer) {
                 return peer.rank >= 0 && static_cast<std::size_t>(peer.rank) < slots.size() &&
                        slots[static_cast<std::size_t>(peer.rank)].host == peer.host;
               });
         });
}

// nullopt: what stood on the pod is not the plan of these places.
std::optional<std::map<std::string, std::string>> NetworkOf(const api::Pod& pod,
                                                            const api::Gang& gang,
                                                            std::int64_t now_ms) {
  std::map<std::string, std::string> network;
  for (const char* key :
       {api::kPriorityAnnotation, api::kPathPlanAnnotation, api::kNcclConfAnnotation}) {
    if (const auto text = api::Find(pod.metadata.annotations, key)) network[key] = *text;
  }
  if (gang.status.network && network.count(api::kPriorityAnnotation) == 0) return std::nullopt;
  if (const auto paths = network.find(api::kPathPlanAnnotation); paths != network.end()) {
    const auto plan = api::DecodePathPlan(paths->second);
    if (!plan.ok() || !IsOfThesePlaces(*plan, gang, now_ms)) return std::nullopt;
  }
  if (!network.empty()) {
    network[api::kNetworkGenerationAnnotation] = StrCat(gang.status.plan_generation);
  }
  return network;
}

}  // namespace

std::optional<WorkerPlace> PlaceAgain(const api::TrainingJob& job, int rank,
                                      const FormerPlace& former) {
  if (former.pod == nullptr || former.gang == nullptr || former.node == nullptr) {
    return std::nullopt;
  }
  const api::Pod& pod = *former.pod;
  const api::Gang& gang = *former.gang;
  const auto& slots = gang.status.assignments;
  // A rented host is another one with each rental.
  if (job.status.capacity.active() || !KeepsItsPlace(gang, job)) return std::nullopt;
  if (rank < 0 || static_cast<std::size_t>(rank) >= slots.size()) return std::nullopt;
  const api::AssignmentEntry& slot = slots[static_cast<std::size_t>(rank)];
  std::string text =
      api::EncodeSlot({gang.metadata.name, rank, slot.fabric_pod, slot.segment, slot.stages});
  const auto& annotations = pod.metadata.annotations;
  const api::OwnerReference* owner = pod.metadata.controller();
  if (owner == nullptr || owner->uid != job.metadata.uid || pod.node_name != slot.host ||
      slot.rank != rank || api::Find(annotations, api::kSlotAnnotation) != text) {
    return std::nullopt;
  }
  // The gate would come back, or the template names the host.
  if (api::Find(annotations, api::kParallelismAnnotation) || !pod.selected_host().empty()) {
    return std::nullopt;
  }
  const api::Node& node = *former.node;
  // A job that is admitted again may have quota of other Nodes.
  if (!api::Selects(job.constraints, node)) return std::nullopt;
  if (node.metadata.name != slot.host || !MayBeUsed(job, gang, rank, node, former.now_ms)) {
    return std::nullopt;
  }
  auto network = NetworkOf(pod, gang, former.now_ms);
  if (!network) return std::nullopt;
  return WorkerPlace{slot.host, std::move(text), IsBackupHost(node), *std::move(network)};
}

void FormerPods::Keep(const std::string& job, int rank, PodPtr pod) {
  const MutexLock lock(mutex_);
  jobs_[job][rank] = std::move(pod);
}

void FormerPods::Drop(const std::string& job) {
  const MutexLock lock(mutex_);
  jobs_.erase(job);
}

FormerPods::PodPtr FormerPods::Find(const std::string& job, int rank) const {
  const MutexLock lock(mutex_);
  const auto of_job = jobs_.find(job);
  if (of_job == jobs_.end()) return nullptr;
  const auto pod = of_job->second.find(rank);
  return pod == of_job->second.end() ? nullptr : pod->second;
}

}  // namespace yardmaster::op
