#include "pkg/plan/rebalance/consolidation.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/placement/worker_need.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using fabric::SegmentId;
using placement::Cluster;
using placement::GangPlan;
using placement::HostSet;
using placement::Outcome;

using Gangs = std::vector<JobId>;

class Consolidator {
 public:
  Consolidator(Fleet& fleet, JobId waiting, int max_moves)
      : fleet_(fleet),
        places_(*fleet.now().places),
        waiting_(waiting),
        max_moves_(static_cast<std::size_t>(std::max(0, max_moves))),
        movable_(fleet.MovableGangs()) {}

  std::optional<Consolidation> Run() {
    if (!EnoughIsFree() || Without(movable_).outcome != Outcome::kPlaced) return std::nullopt;
    Gangs by_price = movable_;
    std::stable_sort(by_price.begin(), by_price.end(),
                     [&](JobId a, JobId b) { return fleet_.PriceOf(a) < fleet_.PriceOf(b); });
    for (const JobId gang : by_price) Try({gang});
    for (const SegmentId segment : places_.segments()) {
      Try(GangsIn([&](HostId host) { return places_.segment_of(host) == segment; }));
    }
    for (const fabric::FabricPodId pod : places_.fabric_pods()) {
      Try(GangsIn([&](HostId host) { return places_.fabric_pod_of(host) == pod; }));
    }
    Try(movable_);
    return std::move(best_);
  }

 private:
  using Cost = std::tuple<double, std::size_t, Gangs>;

  double PriceOf(const Gangs& gangs) const {
    double sum = 0;
    for (const JobId gang : gangs) sum += fleet_.PriceOf(gang);
    return sum;
  }

  // Moves free nothing by themselves.
  bool EnoughIsFree() const {
    std::int64_t free = 0;
    for (const placement::HostState& host : fleet_.now().cluster.hosts) {
      const bool usable = host.unavailable == placement::Unavailability::kNo && !host.backup;
      free += usable ? host.free_gpus : 0;
    }
    const workload::Job& job = fleet_.state(waiting_).job;
    return !job.counts_gpus || job.gpus() <= free;
  }

  template <typename InPlace>
  Gangs GangsIn(InPlace in_place) const {
    Gangs there;
    for (const JobId gang : movable_) {
      const std::vector<HostId>& hosts = fleet_.hosts(gang);
      if (std::any_of(hosts.begin(), hosts.end(), in_place)) there.push_back(gang);
    }
    return there;
  }

  // Segments where those gangs have much are avoided among equal ones.
  GangPlan Without(const Gangs& gangs, const HostSet* eligible = nullptr) {
    Cluster cluster = fleet_.now().cluster;
    cluster.uplink_load.assign(static_cast<std::size_t>(places_.num_segments()), 0);
    for (const JobId gang : gangs) {
      placement::ReleaseHosts(cluster, fleet_.state(gang).job, fleet_.hosts(gang));
      for (const HostId host : fleet_.hosts(gang)) {
        cluster.uplink_load[places_.segment_of(host).index()] +=
            fleet_.state(gang).job.gpus_per_worker;
      }
    }
    return fleet_.Search(cluster, waiting_, eligible);
  }

  Gangs OnHostsOf(const GangPlan& place, const Gangs& gangs) const {
    const std::set<HostId> taken(place.host_of_rank.begin(), place.host_of_rank.end());
    Gangs there;
    for (const JobId gang : gangs) {
      const std::vector<HostId>& hosts = fleet_.hosts(gang);
      if (std::any_of(hosts.begin(), hosts.end(),
                      [&](HostId host) { return taken.count(host) > 0; })) {
        there.push_back(gang);
      }
    }
    return there;
  }

  void Try(const Gangs& gangs) {
    if (gangs.empty() || fleet_.is_cut() || !tried_.insert(gangs).second) return;
    if (TryOn(gangs, nullptr)) return;
    std::set<SegmentId> segments;
    for (const JobId gang : gangs) {
      for (const HostId host : fleet_.hosts(gang)) segments.insert(places_.segment_of(host));
    }
    if (segments.size() < 2) return;
    for (const SegmentId segment : segments) {
      const HostSet inside = HostsIn(segment);
      TryOn(gangs, &inside);
    }
  }

  HostSet HostsIn(SegmentId segment) const {
    HostSet inside(static_cast<std::size_t>(places_.num_hosts()), 0);
    const HostSet* eligible = fleet_.state(waiting_).eligible.get();
    const bool any = eligible == nullptr || eligible->empty();
    for (const HostId host : places_.hosts_of(segment)) {
      inside[host.index()] = any ? 1 : (*eligible)[host.index()];
    }
    return inside;
  }

  // Whether an answer came of it, if only one that is no cheaper.
  bool TryOn(Gangs gangs, const HostSet* eligible) {
    GangPlan place = Without(gangs, eligible);
    if (place.outcome != Outcome::kPlaced) return false;
    gangs = OnHostsOf(place, gangs);
    Gangs dearest_first = gangs;
    std::stable_sort(dearest_first.begin(), dearest_first.end(),
                     [&](JobId a, JobId b) { return fleet_.PriceOf(a) > fleet_.PriceOf(b); });
    for (const JobId gang : dearest_first) {
      Gangs fewer = gangs;
      std::erase(fewer, gang);
      GangPlan other = Without(fewer, eligible);
      if (other.outcome != Outcome::kPlaced) continue;
      gangs = std::move(fewer);
      place = std::move(other);
    }
    gangs = OnHostsOf(place, gangs);
    if (gangs.empty() || gangs.size() > max_moves_) return false;
    Cost cost{PriceOf(gangs), gangs.size(), gangs};
    if (best_ && best_cost_ <= cost) return true;
    std::optional<std::vector<PlannedMove>> moves = Rehouse(gangs, place.host_of_rank);
    if (!moves) return false;
    best_ = Consolidation{*std::move(moves), std::move(place.host_of_rank)};
    best_cost_ = std::move(cost);
    return true;
  }

  // Largest gangs first, since small ones find places that large ones leave.
  std::optional<std::vector<PlannedMove>> Rehouse(Gangs gangs, const std::vector<HostId>& kept) {
    std::stable_sort(gangs.begin(), gangs.end(), [&](JobId a, JobId b) {
      return fleet_.state(a).job.gpus() > fleet_.state(b).job.gpus();
    });
    Cluster cluster = fleet_.now().cluster;
    for (const HostId host : kept) cluster.hosts[host.index()].reserved_for = waiting_.value;
    std::vector<PlannedMove> moves;
    while (!gangs.empty()) {
      const auto next = std::find_if(gangs.begin(), gangs.end(), [&](JobId gang) {
        Cluster without = cluster;
        placement::ReleaseHosts(without, fleet_.state(gang).job, fleet_.hosts(gang));
        GangPlan to = fleet_.Search(without, gang);
        if (to.outcome != Outcome::kPlaced || to.objective > fleet_.PlacesOf(gang)) return false;
        moves.push_back({gang, std::move(to.host_of_rank)});
        return true;
      });
      if (next == gangs.end()) return std::nullopt;
      placement::MoveOccupation(cluster, fleet_.state(*next).job, fleet_.hosts(*next),
                                moves.back().to);
      gangs.erase(next);
    }
    return moves;
  }

  Fleet& fleet_;
  const fabric::Places& places_;
  const JobId waiting_;
  const std::size_t max_moves_;
  const Gangs movable_;
  std::set<Gangs> tried_;
  std::optional<Consolidation> best_;
  Cost best_cost_;
};

}  // namespace

std::optional<Consolidation> Consolidate(Fleet& fleet, JobId waiting, int max_moves) {
  return Consolidator(fleet, waiting, max_moves).Run();
}

}  // namespace yardmaster::plan
