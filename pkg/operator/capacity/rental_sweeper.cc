#include "pkg/operator/capacity/rental_sweeper.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/training_job.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/object.h"
#include "pkg/operator/capacity/capacity_objects.h"

namespace yardmaster::op {

namespace {

std::string NameIn(const kube::Target& target) {
  return StrCat(target.resource.plural, "/", target.name);
}

// Of DaemonSets, and those that the kubelet makes itself.
bool IsOnEveryHost(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  return owner != nullptr && (owner->kind == "DaemonSet" || owner->kind == "Node");
}

// Whether a pod is on the host, or is to come there.
bool IsInUse(const state::ClusterState& cluster, const std::string& host) {
  if (host.empty()) return false;
  const bool has_pod = std::any_of(cluster.pods.begin(), cluster.pods.end(), [&](const auto& pod) {
    return pod->node_name == host && !pod->finished() && !IsOnEveryHost(*pod);
  });
  if (has_pod) return true;
  return std::any_of(cluster.gangs.begin(), cluster.gangs.end(), [&](const auto& gang) {
    const auto& slots = gang->status.assignments;
    return std::any_of(slots.begin(), slots.end(),
                       [&](const api::AssignmentEntry& slot) { return slot.host == host; });
  });
}

}  // namespace

RentalSweeper::Decision RentalSweeper::DecisionOf(const api::TrainingJob& job) {
  Decision decision;
  decision.job_deleted = job.metadata.deleted_ms.has_value();
  if (decision.job_deleted || !job.status.capacity.active()) return decision;
  for (const RentalObject& object : RentalNames(job)) {
    decision.names.insert(NameIn(object.target));
  }
  return decision;
}

absl::Status RentalSweeper::List(const kube::Resource& resource, std::vector<Found>& found) {
  const bool claims = resource.kind == kube::NodeClaims().kind;
  kube::ListOptions options;
  options.label_selector = claims ? api::kRentalLabel : api::kJobLabel;
  const auto objects = kube::ListAll(client_, {resource}, options);
  if (absl::IsNotFound(objects.status())) return absl::OkStatus();
  YM_RETURN_IF_ERROR(objects.status());
  for (const auto& object : *objects) {
    if (kube::FindAt(*object, {"metadata", "deletionTimestamp"}) != nullptr) continue;
    Found one;
    one.target = {resource, kube::NamespaceOf(*object), kube::NameOf(*object), ""};
    one.uid = kube::UidOf(*object);
    if (claims) {
      one.node = kube::StringAt(*object, {"status", "nodeName"});
      one.job_key = kube::StringAt(*object, {"metadata", "annotations", api::kRentalJobAnnotation});
      one.job_uid = kube::StringAt(*object, {"metadata", "labels", api::kRentalLabel});
    }
    JsonView(*object).At({"metadata", "ownerReferences"}).ForEachElement([&](JsonView owner) {
      if (claims || owner["kind"].String() != api::kTrainingJobKind) return;
      one.job_key = kube::MakeKey(one.target.ns, owner["name"].Text());
      one.job_uid = owner["uid"].Text();
    });
    // Others ask for hosts, too, and a NodePool gives its claims the labels of its Nodes.
    if (one.job_uid.empty() || one.job_key.find('/') == std::string::npos) continue;
    found.push_back(std::move(one));
  }
  return absl::OkStatus();
}

// The cache may be behind, and does not have jobs that cannot be read.
absl::StatusOr<RentalSweeper::Decision> RentalSweeper::ReadDecision(const Found& found) {
  Decision decision;
  const std::size_t slash = found.job_key.find('/');
  api::TrainingJob job;
  job.metadata.namespace_name = found.job_key.substr(0, slash);
  job.metadata.name = found.job_key.substr(slash + 1);
  const auto object =
      client_.Get({kube::TrainingJobs(), job.metadata.namespace_name, job.metadata.name, ""});
  if (absl::IsNotFound(object.status()) || (object.ok() && kube::UidOf(*object) != found.job_uid)) {
    decision.job_gone = true;
    return decision;
  }
  YM_RETURN_IF_ERROR(object.status());
  job.metadata.uid = found.job_uid;
  if (kube::FindAt(*object, {"metadata", "deletionTimestamp"}) != nullptr) {
    job.metadata.deleted_ms = 0;
  }
  api::FieldErrors errors;
  job.status.capacity =
      api::ReadCapacityStatus({kube::FindAt(*object, {"status", "capacity"}), "status.capacity",
                               api::UnknownFields::kIgnore, &errors});
  decision = DecisionOf(job);
  decision.readable = errors.empty();
  return decision;
}

absl::Status RentalSweeper::Delete(const Found& found) {
  kube::DeleteOptions options;
  options.uid = found.uid;
  const absl::Status deleted = client_.Delete(found.target, options);
  return kube::IsGone(deleted) ? absl::OkStatus() : deleted;
}

absl::Status RentalSweeper::GiveBackIfLate(const Found& found, const Decision& decision) {
  const bool claim = found.target.resource.kind == kube::NodeClaims().kind;
  // What has an owner goes with it.
  if (decision.job_gone) return claim ? Delete(found) : absl::OkStatus();
  if (decision.job_deleted && !claim) return absl::OkStatus();
  const bool named = !decision.readable || decision.names.count(NameIn(found.target)) != 0;
  if (named || IsInUse(cache_.Take(), found.node)) {
    late_since_ms_.erase(found.uid);
    return absl::OkStatus();
  }
  const std::int64_t now_ms = clock_.SteadyMs();
  const std::int64_t since_ms = late_since_ms_.try_emplace(found.uid, now_ms).first->second;
  if (now_ms - since_ms < kLateMs) return absl::OkStatus();
  YM_RETURN_IF_ERROR(Delete(found));
  if (decision.job_deleted) return absl::OkStatus();
  const std::size_t slash = found.job_key.find('/');
  notify_(
      {found.job_key.substr(0, slash), found.job_key.substr(slash + 1), found.job_uid, true,
       "LateCapacityRemoved",
       StrCat(found.target.resource.kind, " ", found.target.name,
              " was made after its rental had ended, by an operator that did not lead any more; "
              "it is given back, and what it cost is not in status.capacity.spent")});
  return absl::OkStatus();
}

bool RentalSweeper::SweepKind(const kube::Resource& resource,
                              const std::map<std::string, Decision>& seen,
                              std::set<std::string>& there, Failures& failures) {
  std::vector<Found> found;
  if (const absl::Status listed = List(resource, found); !listed.ok()) {
    failures.Add(resource.GroupResource(), listed);
    return false;
  }
  std::map<std::string, absl::StatusOr<Decision>> read;  // at the API server, after the list
  for (const Found& one : found) {
    there.insert(one.uid);
    const auto known = seen.find(one.job_uid);
    if (known != seen.end() && known->second.names.count(NameIn(one.target)) != 0) {
      late_since_ms_.erase(one.uid);
      continue;
    }
    auto decision = read.find(one.job_uid);
    if (decision == read.end()) decision = read.emplace(one.job_uid, ReadDecision(one)).first;
    const absl::Status done =
        decision->second.ok() ? GiveBackIfLate(one, *decision->second) : decision->second.status();
    if (!done.ok()) failures.Add(StrCat(one.target.resource.kind, " ", one.target.name), done);
  }
  return true;
}

void RentalSweeper::Failures::Add(const std::string& what, const absl::Status& why) {
  if (first_.ok()) first_ = why;
  if (lines_.size() < kMaxFailures) lines_.push_back(StrCat(what, ": ", MessageOf(why)));
  ++count_;
}

absl::Status RentalSweeper::Failures::status() const {
  if (first_.ok()) return first_;
  std::string text = Join(lines_, "; ");
  if (count_ > lines_.size()) text += StrCat("; and ", count_ - lines_.size(), " more");
  return absl::Status(first_.code(), text);
}

absl::Status RentalSweeper::Sweep() {
  std::map<std::string, Decision> seen;  // in the cache, by the job's uid
  for (const auto& job : cache_.Take().jobs) {
    if (!job->status.capacity.active()) continue;
    seen[job->metadata.uid] = DecisionOf(*job);
  }
  std::set<std::string> there;
  Failures failures;
  const bool claims = SweepKind(kube::NodeClaims(), seen, there, failures);
  const bool requests = SweepKind(kube::ProvisioningRequests(), seen, there, failures);
  if (claims && requests) {
    std::erase_if(late_since_ms_, [&](const auto& late) { return there.count(late.first) == 0; });
  }
  return failures.status();
}

}  // namespace yardmaster::op
