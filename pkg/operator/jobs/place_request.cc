#include "pkg/operator/jobs/place_request.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/compute_domain.h"
#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/api/slot.h"
#include "pkg/state/node_facts.h"

namespace yardmaster::op {

namespace {

constexpr const char* kLimitsOfWait[] = {api::kGateTimeoutAnnotation,
                                         api::kGateTimeoutActionAnnotation};

// A channel places nothing, and what it asks of a host is in the requests.
bool IsChannel(const api::TrainingJob& job, const api::ClaimOfPod& claim) {
  return job.compute_domain && claim.name == api::kComputeDomainClaim;
}

bool SaysWhatOnlyPodsSay(const api::TrainingJob& job, const api::Pod& pod) {
  const auto& annotations = pod.metadata.annotations;
  const bool has_limits =
      std::any_of(std::begin(kLimitsOfWait), std::end(kLimitsOfWait),
                  [&](const char* limit) { return api::Find(annotations, limit).has_value(); });
  const bool has_claims =
      std::any_of(pod.claims.begin(), pod.claims.end(),
                  [&](const api::ClaimOfPod& claim) { return !IsChannel(job, claim); });
  return has_limits || has_claims || !pod.volume_claims.empty() || pod.gated_by_others() ||
         !pod.selected_host().empty() || !pod.pod_group.empty() || !pod.problems.empty() ||
         pod.requests_unreadable;
}

}  // namespace

std::optional<api::Gang> GangRequestOf(const api::TrainingJob& job, const api::Pod& first) {
  if (SaysWhatOnlyPodsSay(job, first) || !api::WantsGang(first)) return std::nullopt;
  const auto member = api::ResolveMembership(first);
  if (!member.ok() || !*member || (*member)->owner.kind != api::kTrainingJobKind) {
    return std::nullopt;
  }
  api::Gang gang;
  gang.metadata.name = (*member)->gang_name;
  gang.metadata.namespace_name = job.metadata.namespace_name;
  gang.owner = (*member)->owner;
  // Not as controller: the reference is there for garbage collection.
  api::OwnerReference root = (*member)->root;
  root.controller = false;
  gang.metadata.owners = {std::move(root)};
  gang.job = job.job;
  // Left out: that of the PriorityClass, as admission wrote it into the pod.
  if (gang.job.priority == 0) gang.job.priority = first.priority;
  gang.job.may_preempt = job.job.may_preempt && first.may_preempt;
  gang.constraints = job.constraints;
  gang.requests = first.requests;
  gang.rank_bases = api::RankBasesOf({**member});
  gang.pods = api::GangPods::kFollow;
  auto stored = api::DecodeGang(api::EncodeGang(gang), api::Decoding::kLenient);
  return stored.ok() ? std::optional(*std::move(stored)) : std::nullopt;
}

api::Gang WithRequest(api::Gang gang, const api::Gang& request) {
  gang.job = request.job;
  gang.constraints = request.constraints;
  gang.requests = request.requests;
  gang.roles = request.roles;
  gang.rank_bases = request.rank_bases;
  gang.pods = request.pods;
  return gang;
}

bool IsGangOf(const api::Gang& gang, const api::TrainingJob& job) {
  return gang.owner.kind == api::kTrainingJobKind && gang.owner.uid == job.metadata.uid;
}

bool HasPlace(const api::Gang& gang) {
  return gang.status.committed() && !api::IsTrue(gang.status.conditions, api::kPreemptedCondition);
}

bool IsOnOneHost(const api::Gang& gang) {
  const auto& slots = gang.status.assignments;
  return std::all_of(slots.begin(), slots.end(),
                     [&](const auto& slot) { return slot.host == slots.front().host; });
}

bool MayBeUsed(const api::TrainingJob& job, const api::Gang& gang, int rank, const api::Node& node,
               std::int64_t now_ms) {
  const std::string& host = node.metadata.name;
  if (!node.ready.value_or(false) || node.unschedulable || state::IsUnhealthy(node)) return false;
  const auto& avoided = job.status.recovery.avoided;
  const auto& refusals = gang.status.refusals;
  return std::none_of(avoided.begin(), avoided.end(),
                      [&](const api::AvoidedHost& entry) {
                        return entry.host == host && entry.until_ms > now_ms;
                      }) &&
         std::none_of(refusals.begin(), refusals.end(), [&](const api::HostRefusal& refusal) {
           return refusal.rank == rank && refusal.host == host && refusal.until_ms > now_ms;
         });
}

bool IsBackupHost(const api::Node& node) {
  return node.backup() ||
         std::any_of(node.taints.begin(), node.taints.end(),
                     [](const api::Taint& taint) { return taint.key == api::kBackupKey; });
}

std::optional<WorkerPlace> PlaceOf(const api::TrainingJob& job, const api::Gang& gang, int rank,
                                   const api::Node* node, std::int64_t now_ms) {
  const auto& slots = gang.status.assignments;
  if (!HasPlace(gang) || static_cast<std::size_t>(rank) >= slots.size()) return std::nullopt;
  const api::AssignmentEntry& slot = slots[static_cast<std::size_t>(rank)];
  if (slot.rank != rank || node == nullptr || node->metadata.name != slot.host) {
    return std::nullopt;
  }
  if (!MayBeUsed(job, gang, rank, *node, now_ms)) return std::nullopt;
  WorkerPlace place;
  place.host = slot.host;
  place.slot =
      api::EncodeSlot({gang.metadata.name, rank, slot.fabric_pod, slot.segment, slot.stages});
  place.backup_host = IsBackupHost(*node);
  return place;
}

}  // namespace yardmaster::op
