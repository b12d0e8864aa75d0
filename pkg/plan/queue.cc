#include "pkg/plan/queue.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "pkg/placement/worker_need.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using placement::Cluster;
using placement::GangPlan;
using placement::Outcome;

placement::GangRequest RequestOf(const Snapshot& snapshot, JobId job) {
  return RequestOf(snapshot.jobs[job.index()], job);
}

// A Gang is named <kind>-<owner>, and jobs of all kinds are in one order.
std::string_view OwnerName(const NamespacedName& gang) {
  const std::string_view name = gang.name;
  return name.substr(name.find('-') + 1);
}

bool GoesFirst(const Snapshot& snapshot, JobId a, JobId b) {
  const workload::Job& x = snapshot.jobs[a.index()].job;
  const workload::Job& y = snapshot.jobs[b.index()].job;
  const bool x_waits_in_turn = !snapshot.jobs[a.index()].expedited_since_ms;
  const bool y_waits_in_turn = !snapshot.jobs[b.index()].expedited_since_ms;
  const std::string_view x_name = OwnerName(x.key);
  const std::string_view y_name = OwnerName(y.key);
  return std::tie(y.priority, x_waits_in_turn, x.created_ms, x.key.namespace_name, x_name, x.key) <
         std::tie(x.priority, y_waits_in_turn, y.created_ms, y.key.namespace_name, y_name, y.key);
}

// Since when it has reserved its place; nullopt: it does not yet.
std::optional<std::int64_t> ReservesSinceMs(const Snapshot& snapshot, JobId job) {
  const JobState& state = snapshot.jobs[job.index()];
  const std::optional<std::int64_t>& after_ms = state.job.reserve_after_ms;
  std::optional<std::int64_t> since_ms = state.expedited_since_ms;
  if (!after_ms) return since_ms;
  // While it had a place it did not wait.
  const std::int64_t waited_ms = std::max(state.job.created_ms, state.gave_back_ms) + *after_ms;
  if (waited_ms > snapshot.now_ms) return since_ms;
  return std::min(waited_ms, since_ms.value_or(waited_ms));
}

void Free(const JobState& state, Cluster& cluster) {
  placement::ReleaseHosts(cluster, state.job, state.assignment->host_of_rank);
}

std::optional<Reservation> PlaceFor(const Snapshot& snapshot, const Cluster& cluster, JobId job,
                                    const placement::PlannerOptions& options) {
  placement::PlannerOptions quick = options;
  quick.explain = false;
  GangPlan plan = placement::PlanGang(cluster, RequestOf(snapshot, job), quick);
  if (plan.outcome != Outcome::kPlaced) return std::nullopt;
  std::sort(plan.host_of_rank.begin(), plan.host_of_rank.end());
  plan.host_of_rank.erase(std::unique(plan.host_of_rank.begin(), plan.host_of_rank.end()),
                          plan.host_of_rank.end());
  return Reservation{job, std::move(plan.host_of_rank), std::nullopt};
}

}  // namespace

std::optional<std::int64_t> ExpectedEndMs(const JobState& state) {
  if (!state.started_ms || !state.job.run_seconds) return std::nullopt;
  return *state.started_ms + static_cast<std::int64_t>(*state.job.run_seconds * 1000);
}

bool RanOver(const Snapshot& snapshot, JobId job) {
  const JobState& state = snapshot.jobs[job.index()];
  const std::optional<std::int64_t> end_ms = ExpectedEndMs(state);
  return state.assignment && end_ms && *end_ms < snapshot.now_ms;
}

std::vector<JobId> QueueOrder(const Snapshot& snapshot) {
  std::vector<JobId> order;
  for (const JobId job : snapshot.job_ids()) {
    if (!snapshot.jobs[job.index()].assignment) order.push_back(job);
  }
  std::sort(order.begin(), order.end(),
            [&](JobId a, JobId b) { return GoesFirst(snapshot, a, b); });
  return order;
}

bool WaitedLongEnough(const Snapshot& snapshot, JobId job) {
  return ReservesSinceMs(snapshot, job).has_value();
}

bool BackfilledAheadOf(const Snapshot& snapshot, JobId job, JobId runs) {
  const JobState& other = snapshot.jobs[runs.index()];
  const std::optional<std::int64_t> since_ms = ReservesSinceMs(snapshot, job);
  return since_ms && other.assignment && (other.job.preemptible || RanOver(snapshot, runs)) &&
         other.may_be_preempted && GoesFirst(snapshot, job, runs) && other.started_ms &&
         *other.started_ms >= *since_ms;
}

std::optional<Reservation> Reserve(const Snapshot& snapshot, const Cluster& cluster, JobId job,
                                   const placement::PlannerOptions& options) {
  // Jobs that jumped the queue can be stopped at any time.
  Cluster now = cluster;
  std::vector<std::pair<std::int64_t, JobId>> ends;
  for (const JobId other : snapshot.job_ids()) {
    const JobState& state = snapshot.jobs[other.index()];
    if (!state.assignment) continue;
    if (BackfilledAheadOf(snapshot, job, other)) {
      Free(state, now);
    } else if (const auto end = ExpectedEndMs(state)) {
      ends.emplace_back(*end, other);
    }
  }
  std::sort(ends.begin(), ends.end());
  // Freeing more never hurts, so the first end that is enough is found by halving.
  auto after = [&](std::size_t count) {
    Cluster later = now;
    for (std::size_t i = 0; i < count; ++i) Free(snapshot.jobs[ends[i].second.index()], later);
    return PlaceFor(snapshot, later, job, options);
  };
  if (after(ends.size())) {
    std::size_t low = 0, high = ends.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (after(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    std::optional<Reservation> reservation = after(low);
    reservation->start_ms =
        low == 0 ? snapshot.now_ms : std::max(snapshot.now_ms, ends[low - 1].first);
    return reservation;
  }
  // End times are unknown: the place on the fabric that the fewest GPUs of others are in.
  Cluster empty = now;
  empty.uplink_load.assign(static_cast<std::size_t>(snapshot.places->num_segments()), 0);
  for (HostId id : snapshot.places->hosts()) {
    placement::HostState& host = empty.hosts[id.index()];
    empty.uplink_load[snapshot.places->segment_of(id).index()] += host.gpus - host.free_gpus;
    if (host.unavailable == placement::Unavailability::kNo) placement::EmptyHost(empty, id);
  }
  return PlaceFor(snapshot, empty, job, options);
}

bool MayBackfill(const Snapshot& snapshot, JobId job, const Reservation& reservation) {
  const workload::Job& wants = snapshot.jobs[job.index()].job;
  if (wants.preemptible) return true;
  if (!wants.run_seconds || !reservation.start_ms) return false;
  const auto end = snapshot.now_ms + static_cast<std::int64_t>(*wants.run_seconds * 1000);
  return end <= *reservation.start_ms;
}

}  // namespace yardmaster::plan
