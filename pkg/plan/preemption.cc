#include "pkg/plan/preemption.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "pkg/base/strings.h"
#include "pkg/fabric/places.h"
#include "pkg/placement/replacement.h"
#include "pkg/placement/worker_need.h"
#include "pkg/plan/queue.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using placement::Cluster;
using placement::GangPlan;
using placement::Outcome;

using Victims = std::vector<JobId>;
// The place the job gets in a cluster, or not placed.
using Attempt = std::function<GangPlan(const Cluster&)>;

// Of the GPUs that hosts are counted by.
std::int64_t HostGpus(const workload::Job& job) { return job.counts_gpus ? job.gpus() : 0; }

class Preemptor {
 public:
  Preemptor(const Snapshot& snapshot, std::int64_t needed_gpus, Victims candidates, int max_plans,
            Attempt attempt)
      : snapshot_(snapshot),
        needed_gpus_(needed_gpus),
        candidates_(std::move(candidates)),
        plans_left_(max_plans),
        attempt_(std::move(attempt)) {
    for (const placement::HostState& host : snapshot.cluster.hosts) {
      if (host.unavailable == placement::Unavailability::kNo) free_gpus_ += host.free_gpus;
    }
  }

  std::optional<Preemption> Run() {
    if (GangPlan plan = Without({}); plan.outcome == Outcome::kPlaced) {
      return Preemption{{}, std::move(plan), true, 0, ""};
    }
    const Victims all = candidates_;
    std::set<int> priorities;
    for (const JobId candidate : all) priorities.insert(state(candidate).job.priority);
    for (auto limit = LowestEnough({priorities.begin(), priorities.end()}); limit;
         limit = Next(priorities, *limit)) {
      candidates_ = UpTo(*limit, all);
      TryPlaces();
      TryAllSets();
      if (best_) break;
    }
    if (best_) best_->cheapest = !cut_;
    return std::move(best_);
  }

 private:
  using Cost = std::tuple<int, std::int64_t, placement::Objective, std::size_t, Victims>;

  const JobState& state(JobId job) const { return snapshot_.jobs[job.index()]; }
  std::int64_t gpus(JobId job) const { return HostGpus(state(job).job); }
  std::int64_t gpus(const Victims& victims) const {
    std::int64_t sum = 0;
    for (const JobId victim : victims) sum += gpus(victim);
    return sum;
  }

  Cost CostOf(const Victims& victims, const GangPlan& plan) const {
    int priority = victims.empty() ? 0 : state(victims[0]).job.priority;
    for (const JobId victim : victims) priority = std::max(priority, state(victim).job.priority);
    return {priority, gpus(victims), plan.objective, victims.size(), victims};
  }

  Victims UpTo(int limit, const Victims& all) const {
    Victims lower;
    for (const JobId candidate : all) {
      if (state(candidate).job.priority <= limit) lower.push_back(candidate);
    }
    return lower;
  }

  // More victims never hurt, budgets aside: the lowest priority that could be enough is found by
  // halving.
  std::optional<int> LowestEnough(const std::vector<int>& priorities) {
    const Victims all = candidates_;
    std::size_t low = 0, high = priorities.size();
    if (high == 0 || Without(all).outcome != Outcome::kPlaced) return std::nullopt;
    while (low + 1 < high) {
      const std::size_t middle = (low + high) / 2;
      const bool enough = Without(UpTo(priorities[middle - 1], all)).outcome == Outcome::kPlaced;
      (enough ? high : low) = middle;
    }
    return priorities[high - 1];
  }
  static std::optional<int> Next(const std::set<int>& priorities, int after) {
    const auto at = priorities.upper_bound(after);
    return at == priorities.end() ? std::nullopt : std::optional(*at);
  }

  bool WithinBudgets(const Victims& victims) const {
    std::map<int, int> used;
    for (const JobId victim : victims) {
      for (const BudgetUse& use : state(victim).budgets) used[use.budget] += use.pods;
    }
    return std::all_of(used.begin(), used.end(), [&](const auto& entry) {
      return entry.second <= snapshot_.budgets[static_cast<std::size_t>(entry.first)].allowed;
    });
  }

  // Segments where victims have much are avoided among equal ones.
  GangPlan Without(const Victims& victims) const {
    Cluster cluster = snapshot_.cluster;
    cluster.uplink_load.assign(static_cast<std::size_t>(snapshot_.places->num_segments()), 0);
    for (const JobId victim : victims) {
      placement::ReleaseHosts(cluster, state(victim).job, state(victim).assignment->host_of_rank);
      int rank = 0;
      for (HostId id : state(victim).assignment->host_of_rank) {
        const int size = state(victim).job.GpusOf(rank++);
        if (!id.valid()) continue;
        cluster.uplink_load[snapshot_.places->segment_of(id).index()] += size;
      }
    }
    return attempt_(cluster);
  }

  void TryPlaces() {
    TryThinned(candidates_);
    for (fabric::FabricPodId pod : snapshot_.places->fabric_pods()) {
      TryVictimsIn([&](HostId host) { return snapshot_.places->fabric_pod_of(host) == pod; });
    }
    for (fabric::SegmentId segment : snapshot_.places->segments()) {
      TryVictimsIn([&](HostId host) { return snapshot_.places->segment_of(host) == segment; });
    }
    for (const JobId candidate : candidates_) TryThinned({candidate});
  }

  template <typename InPlace>
  void TryVictimsIn(InPlace in_place) {
    Victims there;
    for (const JobId candidate : candidates_) {
      const std::vector<HostId>& hosts = state(candidate).assignment->host_of_rank;
      if (std::any_of(hosts.begin(), hosts.end(),
                      [&](HostId host) { return host.valid() && in_place(host); })) {
        there.push_back(candidate);
      }
    }
    if (!there.empty() && there.size() < candidates_.size()) TryThinned(std::move(there));
  }

  // Spares whom it can of `victims`, dearest first, and tries what is left.
  void TryThinned(Victims victims) {
    if (free_gpus_ + gpus(victims) < needed_gpus_) return;
    GangPlan plan = Without(victims);
    if (plan.outcome != Outcome::kPlaced) return;
    victims = OnHostsOf(plan, std::move(victims));
    Victims order = victims;
    std::sort(order.begin(), order.end(), [&](JobId a, JobId b) {
      return std::tuple(state(b).job.priority, gpus(b), b) <
             std::tuple(state(a).job.priority, gpus(a), a);
    });
    for (const JobId victim : order) {
      Victims fewer = victims;
      std::erase(fewer, victim);
      if (Without(fewer).outcome == Outcome::kPlaced) victims = std::move(fewer);
    }
    AcceptIfCheaper(std::move(victims));
  }

  // Those in the way of this plan; the others may stay where they are.
  Victims OnHostsOf(const GangPlan& plan, Victims victims) const {
    const std::set<HostId> hosts(plan.host_of_rank.begin(), plan.host_of_rank.end());
    std::erase_if(victims, [&](JobId victim) {
      const std::vector<HostId>& mine = state(victim).assignment->host_of_rank;
      return std::none_of(mine.begin(), mine.end(),
                          [&](HostId host) { return hosts.count(host) > 0; });
    });
    return victims;
  }

  // Makes the set the best so far if it is the cheapest. Returns whether the job fits without it.
  bool AcceptIfCheaper(Victims victims) {
    if (!WithinBudgets(victims)) return false;
    GangPlan plan = Without(victims);
    if (plan.outcome != Outcome::kPlaced) return false;
    Cost cost = CostOf(victims, plan);
    if (best_ && best_cost_ <= cost) return true;
    best_ = Preemption{std::move(victims), std::move(plan), true, 0, ""};
    best_cost_ = std::move(cost);
    return true;
  }

  // All sets, small gangs first, but for those that cannot be better than the best.
  void TryAllSets() {
    std::sort(candidates_.begin(), candidates_.end(),
              [&](JobId a, JobId b) { return std::tuple(gpus(a), a) < std::tuple(gpus(b), b); });
    std::vector<std::int64_t> rest(candidates_.size() + 1, 0);
    for (std::size_t i = candidates_.size(); i-- > 0;) {
      rest[i] = rest[i + 1] + gpus(candidates_[i]);
    }
    Extend({}, 0, rest);
  }

  void Extend(const Victims& chosen, std::size_t from, const std::vector<std::int64_t>& rest) {
    const std::int64_t stopped = gpus(chosen);
    if (cut_ || free_gpus_ + stopped + rest[from] < needed_gpus_) return;
    // What is missing has to be stopped, too.
    const std::int64_t least = std::max(stopped, needed_gpus_ - free_gpus_);
    if (best_ && least > std::get<1>(best_cost_)) return;
    for (std::size_t i = from; i < candidates_.size(); ++i) {
      Victims more = chosen;
      more.push_back(candidates_[i]);
      std::sort(more.begin(), more.end());
      const std::int64_t with = stopped + gpus(candidates_[i]);
      if (best_ && with > std::get<1>(best_cost_)) return;  // the next ones are no smaller
      if (!WithinBudgets(more)) continue;
      if (free_gpus_ + with >= needed_gpus_) {
        if (--plans_left_ < 0) cut_ = true;
        if (cut_) return;
        // A larger set is dearer.
        if (AcceptIfCheaper(more)) continue;
      }
      Extend(more, i + 1, rest);
    }
  }

  const Snapshot& snapshot_;
  const std::int64_t needed_gpus_;
  std::int64_t free_gpus_ = 0;
  Victims candidates_;
  int plans_left_;
  bool cut_ = false;
  const Attempt attempt_;
  std::optional<Preemption> best_;
  Cost best_cost_;
};

std::string PlaceOf(const fabric::Places& places, const std::vector<HostId>& hosts) {
  std::set<fabric::SegmentId> segments;
  std::set<fabric::FabricPodId> pods;
  for (HostId host : hosts) {
    segments.insert(places.segment_of(host));
    pods.insert(places.fabric_pod_of(host));
  }
  if (segments.size() == 1) return StrCat("segment ", DistinctName(places, *segments.begin()));
  const std::string in = Count(static_cast<std::int64_t>(segments.size()), "segment");
  if (pods.size() == 1) return StrCat(in, " of fabric pod ", places.name(*pods.begin()));
  return StrCat(in, " of ", Count(static_cast<std::int64_t>(pods.size()), "fabric pod"));
}

// Hosts the job goes to that it is not on.
std::vector<HostId> NewHosts(const JobState& wants, const std::vector<HostId>& host_of_rank) {
  std::set<HostId> hosts(host_of_rank.begin(), host_of_rank.end());
  if (wants.assignment) {
    for (HostId host : wants.assignment->host_of_rank) hosts.erase(host);
  }
  return {hosts.begin(), hosts.end()};
}

// Sets grace_seconds and why.
void DescribeDecision(const Snapshot& snapshot, JobId job, std::optional<Preemption>& decision) {
  if (!decision || decision->victims.empty()) return;
  constexpr std::size_t kMaxNames = 3;
  const JobState& wants = snapshot.jobs[job.index()];
  std::vector<std::string> names;
  for (const JobId index : decision->victims) {
    const JobState& victim = snapshot.jobs[index.index()];
    decision->grace_seconds = std::max(decision->grace_seconds, victim.grace_seconds);
    if (names.size() == kMaxNames) continue;
    names.push_back(StrCat(victim.job.key.text(), " (", Count(victim.job.gpus(), "GPU"),
                           ", priority ", victim.job.priority, ")"));
  }
  const std::vector<HostId> hosts = NewHosts(wants, decision->gang.host_of_rank);
  const std::size_t more = decision->victims.size() - names.size();
  decision->why =
      StrCat("stops ", Join(names, ", "), more > 0 ? StrCat(" and ", more, " more") : "", " for ",
             Count(static_cast<std::int64_t>(hosts.size()), "host"), " in ",
             PlaceOf(*snapshot.places, hosts), "; given ", decision->grace_seconds,
             " s to write a checkpoint, then back to the queue");
}

}  // namespace

std::optional<Preemption> PlanPreemption(const Snapshot& snapshot, JobId job,
                                         const PreemptionOptions& options) {
  const JobState& wants = snapshot.jobs[job.index()];
  Victims candidates;
  for (const JobId id : snapshot.job_ids()) {
    const JobState& other = snapshot.jobs[id.index()];
    const bool lower = wants.job.may_preempt &&
                       (other.job.priority < wants.job.priority ||
                        (other.job.priority == wants.job.priority && RanOver(snapshot, id)));
    if (other.assignment && other.may_be_preempted &&
        (lower || BackfilledAheadOf(snapshot, job, id))) {
      candidates.push_back(id);
    }
  }
  placement::PlannerOptions quick = options.placement;
  quick.explain = false;
  const std::int64_t needed = HostGpus(wants.job);
  auto decision = Preemptor(snapshot, needed, std::move(candidates), options.max_plans,
                            [&](const Cluster& cluster) {
                              return placement::PlanGang(cluster, RequestOf(wants, job), quick);
                            })
                      .Run();
  DescribeDecision(snapshot, job, decision);
  return decision;
}

std::optional<Preemption> PlanTakeBack(const Snapshot& snapshot, JobId job) {
  const JobState& wants = snapshot.jobs[job.index()];
  if (!wants.assignment) return std::nullopt;
  const fabric::BackupPolicy policy =
      snapshot.network ? snapshot.network->spec().backup : fabric::BackupPolicy{};
  Victims candidates;
  for (const JobId id : snapshot.job_ids()) {
    const JobState& other = snapshot.jobs[id.index()];
    if (id == job || !other.assignment || !other.job.preemptible || !other.may_be_preempted) {
      continue;
    }
    const std::vector<HostId>& hosts = other.assignment->host_of_rank;
    if (std::any_of(hosts.begin(), hosts.end(), [&](HostId host) {
          return host.valid() && snapshot.cluster.hosts[host.index()].backup;
        })) {
      candidates.push_back(id);
    }
  }
  auto decision = Preemptor(snapshot, 0, std::move(candidates), PreemptionOptions{}.max_plans,
                            [&](const Cluster& cluster) {
                              return placement::ReplaceHosts(cluster, RequestOf(wants, job),
                                                             wants.assignment->host_of_rank,
                                                             wants.lost_ranks, policy);
                            })
                      .Run();
  DescribeDecision(snapshot, job, decision);
  return decision;
}

}  // namespace yardmaster::plan
