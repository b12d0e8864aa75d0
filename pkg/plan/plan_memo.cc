#include "pkg/plan/plan_memo.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace yardmaster::plan {

namespace {

template <typename T>
bool Equal(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool Equal(const placement::Cluster& a, const placement::Cluster& b) {
  return a.hosts == b.hosts && Equal(a.resources.names, b.resources.names) &&
         Equal(a.resources.allocatable, b.resources.allocatable) &&
         a.resources.free == b.resources.free && Equal(a.gpu_models, b.gpu_models) &&
         a.uplink_load == b.uplink_load;
}

bool Equal(const JobState& a, const JobState& b) {
  const bool same_place =
      a.assignment.has_value() == b.assignment.has_value() &&
      (!a.assignment || a.assignment->host_of_rank == b.assignment->host_of_rank);
  return same_place && a.job == b.job && a.groups == b.groups && Equal(a.eligible, b.eligible) &&
         Equal(a.preferred, b.preferred) && Equal(a.role_hosts, b.role_hosts) &&
         a.lost_ranks == b.lost_ranks && a.problems == b.problems && a.started_ms == b.started_ms &&
         a.leaving == b.leaving && a.gave_back_ms == b.gave_back_ms &&
         a.expedited_since_ms == b.expedited_since_ms;
}

// Only reservations and waits for hosts that come free look at the time.
bool LooksAtTime(const Snapshot& snapshot) {
  if (!snapshot.leaving.empty()) return true;
  return std::any_of(snapshot.jobs.begin(), snapshot.jobs.end(), [](const JobState& job) {
    return !job.assignment && (job.job.reserve_after_ms || job.expedited_since_ms);
  });
}

}  // namespace

const Plan* PlanMemo::Find(const Snapshot& snapshot) const {
  if (!kept_ || snapshot.places != snapshot_.places || snapshot.network != snapshot_.network ||
      snapshot.jobs.size() != snapshot_.jobs.size() || LooksAtTime(snapshot) ||
      !snapshot_.leaving.empty() || !Equal(snapshot.cluster, snapshot_.cluster)) {
    return nullptr;
  }
  const bool same = std::equal(snapshot.jobs.begin(), snapshot.jobs.end(), snapshot_.jobs.begin(),
                               [](const JobState& a, const JobState& b) { return Equal(a, b); });
  return same ? &plan_ : nullptr;
}

void PlanMemo::Store(const Snapshot& snapshot, Plan plan) {
  snapshot_ = snapshot;
  plan_ = std::move(plan);
  kept_ = true;
}

}  // namespace yardmaster::plan
