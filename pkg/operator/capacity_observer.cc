#include "pkg/operator/capacity_observer.h"

#include <algorithm>
#include <set>

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pod_builder.h"

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

bool LeavesDespiteBounds(const api::TrainingJob& job, const api::Node* node,
                         const HostVerdict& verdict) {
  const api::CapacityStatus& status = job.status.capacity;
  if (status.phase != RentalPhase::kProvisioned) return false;
  // Its provider has removed the Node: the bounds are for reports of Nodes that are there.
  if (node == nullptr) return verdict.state == HostState::kHeld;
  const int part = PartOf(status, *node);
  return part >= 0 && !verdict.reclaim.empty() &&
         status.hosts[static_cast<std::size_t>(part)].type == api::CapacityType::kSpot;
}

std::string CapacityObserver::LossOf(const api::TrainingJob& job, const std::string& host) const {
  const auto node = cache_.FindNode(host);
  const HostVerdict verdict =
      hosts_.Judge(host, std::int64_t{1000} * job.recovery.host_grace_seconds, clock_.SteadyMs());
  if (LeavesDespiteBounds(job, node.get(), verdict)) {
    return node == nullptr ? StrCat("host ", host, " is gone")
                           : StrCat("host ", host, " has ", verdict.reclaim);
  }
  if (verdict.state != HostState::kLost) return "";
  return verdict.fault_name.empty() ? StrCat("host ", host, " is lost")
                                    : StrCat("host ", host, " has ", verdict.fault_name);
}

void CapacityObserver::ObservePods(const api::TrainingJob& job,
                                   CapacityObservation& observed) const {
  const api::CapacityStatus& status = job.status.capacity;
  std::set<int> parts;
  for (int rank = 0; rank < job.job.workers; ++rank) {
    const auto pod =
        cache_.FindPod(StrCat(job.metadata.namespace_name, "/", PodName(job.metadata.name, rank)));
    if (pod == nullptr || pod->finished()) continue;
    const api::OwnerReference* owner = pod->metadata.controller();
    if (owner == nullptr || owner->uid != job.metadata.uid) continue;
    ++observed.live_pods;
    if (status.phase != RentalPhase::kProvisioned || pod->node_name.empty()) continue;
    const auto node = cache_.FindNode(pod->node_name);
    const int part = node == nullptr ? -1 : PartOf(status, *node);
    const std::string loss = LossOf(job, pod->node_name);
    if (loss.empty()) continue;
    if (observed.lost.empty()) observed.lost = loss;
    if (part >= 0) parts.insert(part);
  }
  observed.lost_parts.assign(parts.begin(), parts.end());
}

CapacityObservation CapacityObserver::Observe(const api::TrainingJob& job) const {
  CapacityObservation observed;
  observed.job = &job;
  observed.now_ms = clock_.WallMs();
  ObservePods(job, observed);
  const auto gang = cache_.FindGang(StrCat(
      job.metadata.namespace_name, "/", api::GangName(api::kTrainingJobKind, job.metadata.name)));
  if (gang == nullptr || gang->owner.uid != job.metadata.uid) return observed;
  observed.placed = gang->status.committed();
  observed.waits = !observed.placed && observed.live_pods == job.job.workers &&
                   gang->status.outcome.has_value() &&
                   *gang->status.outcome != placement::Outcome::kPlaced;
  // Pods were removed with their Nodes, and made again: nothing is left to place them on.
  const std::int64_t settled_ms =
      job.status.capacity.since_ms + std::int64_t{1000} * job.recovery.host_grace_seconds;
  if (job.status.capacity.phase == RentalPhase::kProvisioned && observed.waits &&
      observed.lost.empty() && observed.now_ms >= settled_ms) {
    ObserveMissingHosts(job.status.capacity, observed);
  }
  return observed;
}

void CapacityObserver::ObserveMissingHosts(const api::CapacityStatus& status,
                                           CapacityObservation& observed) const {
  std::vector<int> there(status.hosts.size(), 0);
  for (const auto& node : cache_.Take().nodes) {
    const int part = PartOf(status, *node);
    if (part >= 0) ++there[static_cast<std::size_t>(part)];
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
