#include "pkg/operator/capacity/capacity_observer.h"

#include <algorithm>
#include <set>

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {

namespace {

using api::RentalPhase;

// The entry of the status whose Nodes carry these labels; -1: none.
int PartOf(const api::CapacityStatus& status, const api::Node& node) {
  for (std::size_t i = 0; i < status.hosts.size(); ++i) {
    const auto& labels = status.hosts[i].node_labels;
    if (std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
          return api::Find(node.metadata.labels, label.first.c_str()) ==
                 std::string_view(label.second);
        })) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

bool LeavesRental(const api::TrainingJob& job, const api::Node* node, const HostVerdict& verdict) {
  const api::CapacityStatus& status = job.status.capacity;
  if (status.phase != RentalPhase::kProvisioned) return false;
  // It leaves all of them anyway, in the order that the job controller knows.
  if (job.run.suspended || job.metadata.deleted_ms || job.status.ended()) return false;
  if (verdict.state == HostHealthState::kLost) return true;
  // Its provider has removed the Node: the bounds are for reports of Nodes that are there.
  if (node == nullptr) return verdict.state == HostHealthState::kHeld;
  const int part = PartOf(status, *node);
  return part >= 0 && !verdict.reclaim.empty() &&
         status.hosts[static_cast<std::size_t>(part)].type == api::CapacityType::kSpot;
}

std::string CapacityObserver::LossOf(const api::TrainingJob& job, const std::string& host) const {
  const auto node = cache_.FindNode(host);
  const HostVerdict verdict =
      hosts_.Assess(host, std::int64_t{1000} * job.recovery.host_grace_seconds, clock_.SteadyMs());
  if (!LeavesRental(job, node.get(), verdict)) return "";
  if (node == nullptr) return StrCat("host ", host, " is gone");
  const std::string& why = verdict.reclaim.empty() ? verdict.fault_name : verdict.reclaim;
  return why.empty() ? StrCat("host ", host, " is lost") : StrCat("host ", host, " has ", why);
}

bool CapacityObserver::EndsWithItsHost(const api::TrainingJob& job, const api::Pod& pod) const {
  if (!pod.metadata.deleted_ms || pod.node_name.empty()) return false;
  const HostVerdict verdict = hosts_.Assess(
      pod.node_name, std::int64_t{1000} * job.recovery.host_grace_seconds, clock_.SteadyMs());
  return verdict.state == HostHealthState::kLost && !verdict.reachable();
}

int CapacityObserver::ObservePods(const api::TrainingJob& job,
                                  CapacityObservation& observed) const {
  const api::CapacityStatus& status = job.status.capacity;
  int without_host = 0;
  std::set<int> parts;
  for (int rank = 0; rank < job.job.workers; ++rank) {
    const auto pod =
        cache_.FindPod(StrCat(job.metadata.namespace_name, "/", PodName(job.metadata.name, rank)));
    if (pod == nullptr || pod->finished()) continue;
    const api::OwnerReference* owner = pod->metadata.controller();
    if (owner == nullptr || owner->uid != job.metadata.uid) continue;
    if (EndsWithItsHost(job, *pod)) continue;
    ++observed.live_pods;
    without_host += pod->node_name.empty() ? 1 : 0;
    if (status.phase != RentalPhase::kProvisioned || pod->node_name.empty()) continue;
    const auto node = cache_.FindNode(pod->node_name);
    const int part = node == nullptr ? -1 : PartOf(status, *node);
    const std::string loss = LossOf(job, pod->node_name);
    if (loss.empty()) continue;
    if (observed.lost.empty()) observed.lost = loss;
    if (part >= 0) parts.insert(part);
  }
  observed.lost_parts.assign(parts.begin(), parts.end());
  return without_host;
}

CapacityObservation CapacityObserver::Observe(const api::TrainingJob& job) const {
  CapacityObservation observed;
  observed.job = &job;
  observed.now_ms = clock_.WallMs();
  const int without_host = ObservePods(job, observed);
  const auto gang = cache_.FindGang(StrCat(
      job.metadata.namespace_name, "/", api::GangName(api::kTrainingJobKind, job.metadata.name)));
  if (gang == nullptr || gang->owner.uid != job.metadata.uid) return observed;
  observed.placed = gang->status.committed();
  // A planner said that it finds no place, with its reasons: a gang that waits for pods, or for the
  // gate of another controller, has none, and hosts would not help it.
  const bool asks = observed.live_pods == 0 ? gang->pods == api::GangPods::kFollow
                                            : observed.live_pods == job.job.workers;
  observed.waits = !observed.placed && asks && gang->status.outcome.has_value() &&
                   *gang->status.outcome != placement::Outcome::kPlaced &&
                   !gang->status.reasons.empty();
  const std::int64_t settled_ms =
      job.status.capacity.since_ms + std::int64_t{1000} * job.recovery.host_grace_seconds;
  if (job.status.capacity.phase == RentalPhase::kProvisioned && without_host > 0 &&
      observed.lost.empty() && observed.now_ms >= settled_ms) {
    ObserveMissingHosts(job, observed);
  }
  return observed;
}

void CapacityObserver::ObserveMissingHosts(const api::TrainingJob& job,
                                           CapacityObservation& observed) const {
  const api::CapacityStatus& status = job.status.capacity;
  std::vector<int> there(status.hosts.size(), 0);
  for (const auto& node : cache_.Take().nodes) {
    const auto renter = api::Find(node->metadata.labels, api::kRentalLabel);
    if (renter && *renter != job.metadata.uid) continue;
    const int part = PartOf(status, *node);
    if (part < 0 || !LossOf(job, node->metadata.name).empty()) continue;
    ++there[static_cast<std::size_t>(part)];
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    const api::RentedHosts& part = status.hosts[i];
    if (there[i] >= part.hosts) continue;
    observed.lost_parts.push_back(static_cast<int>(i));
    observed.lost =
        StrCat(there[i], " of ", Count(part.hosts, "host"), " of ", part.pool, " are left");
  }
}

}  // namespace yardmaster::op
