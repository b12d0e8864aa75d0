#include "pkg/plan/preemption.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "pkg/placement/replacement.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using placement::Cluster;
using placement::GangPlan;
using placement::Outcome;

using Victims = std::vector<int>;
// The place the job gets in a cluster, or not placed.
using Attempt = std::function<GangPlan(const Cluster&)>;

class Preemptor {
 public:
  Preemptor(const Snapshot& snapshot, Victims candidates, Attempt attempt)
      : snapshot_(snapshot), candidates_(std::move(candidates)), attempt_(std::move(attempt)) {}

  std::optional<Preemption> Run() {
    if (GangPlan plan = Without({}); plan.outcome == Outcome::kPlaced) {
      return Preemption{{}, std::move(plan)};
    }
    if (!KeepLowestPriorities()) return std::nullopt;
    Offer(candidates_);
    for (fabric::FabricPodId pod : snapshot_.places->fabric_pods()) {
      OfferThoseIn([&](HostId host) { return snapshot_.places->fabric_pod_of(host) == pod; });
    }
    for (fabric::SegmentId segment : snapshot_.places->segments()) {
      OfferThoseIn([&](HostId host) { return snapshot_.places->segment_of(host) == segment; });
    }
    for (int candidate : candidates_) Offer({candidate});
    return std::move(best_);
  }

 private:
  using Cost = std::tuple<int, std::int64_t, std::size_t, Victims>;

  const JobState& state(int job) const { return snapshot_.jobs[static_cast<std::size_t>(job)]; }
  std::int64_t gpus(int job) const {
    return std::int64_t{1} * state(job).job.workers * state(job).job.gpus_per_worker;
  }

  Cost CostOf(const Victims& victims) const {
    int priority = victims.empty() ? 0 : state(victims[0]).job.priority;
    std::int64_t stopped = 0;
    for (int victim : victims) {
      priority = std::max(priority, state(victim).job.priority);
      stopped += gpus(victim);
    }
    return {priority, stopped, victims.size(), victims};
  }

  // Segments where victims have much are avoided among equal ones.
  GangPlan Without(const Victims& victims) const {
    Cluster cluster = snapshot_.cluster;
    cluster.uplink_load.assign(static_cast<std::size_t>(snapshot_.places->num_segments()), 0);
    for (int victim : victims) {
      const int size = state(victim).job.gpus_per_worker;
      for (HostId id : state(victim).assignment->host_of_rank) {
        if (!id.valid()) continue;
        placement::HostState& host = cluster.hosts[id.index()];
        host.free_gpus = static_cast<std::int16_t>(std::min<int>(host.gpus, host.free_gpus + size));
        cluster.uplink_load[snapshot_.places->segment_of(id).index()] += size;
      }
    }
    return attempt_(cluster);
  }

  // Nobody of a higher priority than needed. False: stopping all candidates would not help.
  bool KeepLowestPriorities() {
    if (Without(candidates_).outcome != Outcome::kPlaced) return false;
    std::set<int> priorities;
    for (int candidate : candidates_) priorities.insert(state(candidate).job.priority);
    for (int limit : priorities) {
      Victims lower;
      for (int candidate : candidates_) {
        if (state(candidate).job.priority <= limit) lower.push_back(candidate);
      }
      if (Without(lower).outcome != Outcome::kPlaced) continue;
      candidates_ = std::move(lower);
      return true;
    }
    return false;
  }

  template <typename InPlace>
  void OfferThoseIn(InPlace in_place) {
    Victims there;
    for (int candidate : candidates_) {
      const std::vector<HostId>& hosts = state(candidate).assignment->host_of_rank;
      if (std::any_of(hosts.begin(), hosts.end(),
                      [&](HostId host) { return host.valid() && in_place(host); })) {
        there.push_back(candidate);
      }
    }
    if (!there.empty() && there.size() < candidates_.size()) Offer(std::move(there));
  }

  // Thins `victims` out, dearest first, and keeps the set if it is the cheapest so far.
  void Offer(Victims victims) {
    GangPlan plan = Without(victims);
    if (plan.outcome != Outcome::kPlaced) return;
    victims = OnHostsOf(plan, std::move(victims));
    Victims order = victims;
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::tuple(state(b).job.priority, gpus(b), b) <
             std::tuple(state(a).job.priority, gpus(a), a);
    });
    for (int victim : order) {
      Victims fewer = victims;
      std::erase(fewer, victim);
      if (Without(fewer).outcome == Outcome::kPlaced) victims = std::move(fewer);
    }
    if (best_ && CostOf(best_->victims) <= CostOf(victims)) return;
    plan = Without(victims);
    best_ = Preemption{std::move(victims), std::move(plan)};
  }

  // Those in the way of this plan; the others may stay where they are.
  Victims OnHostsOf(const GangPlan& plan, Victims victims) const {
    const std::set<HostId> hosts(plan.host_of_rank.begin(), plan.host_of_rank.end());
    std::erase_if(victims, [&](int victim) {
      const std::vector<HostId>& mine = state(victim).assignment->host_of_rank;
      return std::none_of(mine.begin(), mine.end(),
                          [&](HostId host) { return hosts.count(host) > 0; });
    });
    return victims;
  }

  const Snapshot& snapshot_;
  Victims candidates_;
  const Attempt attempt_;
  std::optional<Preemption> best_;
};

}  // namespace

std::optional<Preemption> PlanPreemption(const Snapshot& snapshot, int job,
                                         const placement::PlannerOptions& options) {
  const JobState& wants = snapshot.jobs[static_cast<std::size_t>(job)];
  Victims candidates;
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const JobState& other = snapshot.jobs[i];
    if (other.assignment && other.may_be_preempted && other.job.priority < wants.job.priority) {
      candidates.push_back(static_cast<int>(i));
    }
  }
  placement::PlannerOptions quick = options;
  quick.explain = false;
  return Preemptor(snapshot, std::move(candidates),
                   [&](const Cluster& cluster) {
                     return placement::PlanGang(
                         cluster, {&wants.job, &wants.groups, wants.eligible.get(), job}, quick);
                   })
      .Run();
}

std::optional<Preemption> PlanTakeBack(const Snapshot& snapshot, int job) {
  const JobState& wants = snapshot.jobs[static_cast<std::size_t>(job)];
  if (!wants.assignment) return std::nullopt;
  const fabric::BackupPolicy policy =
      snapshot.network ? snapshot.network->spec().backup : fabric::BackupPolicy{};
  Victims candidates;
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const JobState& other = snapshot.jobs[i];
    if (static_cast<int>(i) == job || !other.assignment || !other.job.preemptible) continue;
    const std::vector<HostId>& hosts = other.assignment->host_of_rank;
    if (std::any_of(hosts.begin(), hosts.end(), [&](HostId host) {
          return host.valid() && snapshot.cluster.hosts[host.index()].backup;
        })) {
      candidates.push_back(static_cast<int>(i));
    }
  }
  return Preemptor(snapshot, std::move(candidates),
                   [&](const Cluster& cluster) {
                     return placement::ReplaceHosts(
                         cluster, {&wants.job, &wants.groups, wants.eligible.get(), job},
                         wants.assignment->host_of_rank, wants.lost_ranks, policy);
                   })
      .Run();
}

}  // namespace yardmaster::plan
