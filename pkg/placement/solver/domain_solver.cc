#include "pkg/placement/solver/domain_solver.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/placement/solver/domain_fill.h"
#include "pkg/placement/solver/gang_search.h"
#include "pkg/placement/solver/gang_solver.h"
#include "pkg/placement/solver/piece_problem.h"
#include "pkg/placement/solver/search_bounds.h"
#include "pkg/placement/solver/stage_order.h"

namespace yardmaster::placement {

namespace {

using fabric::DomainId;
using fabric::SegmentId;

// The search is asked about gangs up to this size.
constexpr int kMaxSearchedPieces = 96;

class DomainSolver {
 public:
  DomainSolver(const SegmentProblem& problem, const Cluster& cluster, const Capacity& capacity,
               std::int64_t max_steps)
      : problem_(problem),
        places_(problem.places),
        model_(problem.model),
        groups_(problem.groups),
        cluster_(cluster),
        capacity_(capacity),
        max_steps_(max_steps) {}

  SegmentPlan Run() {
    const std::vector<Partition> all = Pieces();
    SegmentPlan best;
    best.exact = false;
    bool whole = false;  // no unit is split
    for (const Partition& pieces : all) {
      const GangModel model = WithDomainSets(model_, pieces);
      const Capacity room = RoomFor(model);
      const bool finest = pieces.count() == model_.domain_sets.count();
      if (room.total < model_.workers && !finest) continue;
      SegmentPlan plan =
          ChooseSegments({places_, model, groups_, problem_.scores}, room, max_steps_);
      if (finest && !plan.found) return plan;
      if (!plan.found) continue;
      const SegmentPlan segments = plan;
      if (!Fill(model, room, plan)) continue;
      whole = pieces.count() == model_.units.count();
      plan.bound = BoundOf(whole ? segments : Relaxed(finest ? &segments : nullptr), whole, room);
      best = std::move(plan);
      break;
    }
    if (best.found && best.objective <= best.bound) best.exact = true;
    if (!best.exact) Search(whole ? model_.units : model_.domain_sets, best);
    if (best.exact && best.found) best.bound = best.objective;
    return best;
  }

 private:
  // What may be kept in one domain, the coarsest first.
  std::vector<Partition> Pieces() const {
    std::vector<Partition> all;
    const auto add = [&](Partition pieces) {
      if (all.empty() || pieces.count() > all.back().count()) all.push_back(std::move(pieces));
    };
    if (!capacity_.classes.any()) {
      add(model_.units);
      add(Joined(model_.domain_sets, {&groups_.tensor, &groups_.context}));
      add(Joined(model_.domain_sets, {&groups_.tensor}));
    }
    add(model_.domain_sets);
    return all;
  }

  // The same hosts, by whole domain sets of `model`.
  Capacity RoomFor(const GangModel& model) const {
    Capacity room = capacity_;
    if (model.domain_sets.count() == model_.domain_sets.count()) return room;
    room.total = 0;
    for (SegmentId segment : places_.segments()) {
      std::int32_t& sum = room.of_segment[segment.index()];
      sum = 0;
      for (DomainId domain : places_.domains_of(segment)) {
        std::int32_t& workers = room.of_domain[domain.index()];
        workers = model.RoomInDomain(workers);
        sum += workers;
      }
      room.total += sum;
    }
    return room;
  }

  // What segments cost at least without a look at domains.
  SegmentPlan Relaxed(const SegmentPlan* known) const {
    return known != nullptr ? *known : ChooseSegments(problem_, capacity_, max_steps_);
  }

  Objective BoundOf(const SegmentPlan& segments, bool whole, const Capacity& room) const {
    Objective bound = segments.bound;
    bound.tensor_split_domains = whole ? 0 : LeastSplits();
    const Capacity& domains = whole ? room : capacity_;
    bound.domains = Fewest(domains.of_domain, model_.workers);
    if (bound.segments != 1) return bound;
    // All of it is in one of the segments then.
    int fewest = places_.num_domains() + 1;
    for (SegmentId segment : places_.segments()) {
      if (domains.of_segment[segment.index()] < model_.workers) continue;
      fewest = std::min(fewest, DomainsIn(domains, segment, model_.workers));
    }
    bound.domains = std::max<std::int64_t>(bound.domains, fewest);
    return bound;
  }

  static int Fewest(std::vector<std::int32_t> rooms, int workers) {
    std::sort(rooms.rbegin(), rooms.rend());
    return PlacesFor(workers, rooms);
  }

  // Each tensor, context and expert group alone, and each unit that no domain takes.
  std::int64_t LeastSplits() const {
    std::vector<int> rooms(capacity_.of_domain.begin(), capacity_.of_domain.end());
    std::sort(rooms.rbegin(), rooms.rend());
    std::int64_t splits = 0;
    for (const auto* family : {&groups_.tensor, &groups_.context, &groups_.expert}) {
      std::map<std::size_t, std::int64_t> places;  // by size
      for (const workload::WorkerGroup& group : *family) {
        const std::size_t size = group.workers.size();
        const auto [at, is_new] = places.emplace(size, 0);
        if (is_new) at->second = PlacesFor(static_cast<std::int64_t>(size), rooms);
        splits += (at->second - 1) * group.count;
      }
    }
    const TensorUnits units(ProblemOf(places_, model_, groups_, capacity_, model_.domain_sets));
    return std::max(splits, units.SplitsIn(rooms));
  }

  std::vector<FreeDomain> DomainsOf(const Capacity& room, SegmentId segment) const {
    std::vector<FreeDomain> domains;
    for (DomainId domain : places_.domains_of(segment)) {
      FreeDomain free{domain.value, room.of_domain[domain.index()], 0};
      if (free.room == 0) continue;
      for (fabric::HostId host : places_.hosts_of(domain)) {
        free.degraded += cluster_.hosts[host.index()].degraded * room.of_host[host.index()];
      }
      domains.push_back(free);
    }
    return domains;
  }
  int DomainsIn(const Capacity& room, SegmentId segment, int workers) const {
    std::vector<std::int32_t> rooms;
    for (DomainId domain : places_.domains_of(segment)) {
      rooms.push_back(room.of_domain[domain.index()]);
    }
    return Fewest(std::move(rooms), workers);
  }

  // Gives the plan domains, or says that some piece found none.
  bool Fill(const GangModel& model, const Capacity& room, SegmentPlan& plan) const {
    if (!capacity_.classes.any()) ExchangeSegments(model, room, plan.segment_of_worker);
    const Partition& pieces = model.domain_sets;
    std::vector<int> lowest(pieces.size.size(), -1);
    std::map<int, std::vector<int>> in_segment;
    for (int w = 0; w < model.workers; ++w) {
      int& first = lowest[static_cast<std::size_t>(pieces.of[static_cast<std::size_t>(w)])];
      if (first >= 0) continue;
      first = w;
      in_segment[plan.segment_of_worker[static_cast<std::size_t>(w)]].push_back(
          pieces.of[static_cast<std::size_t>(w)]);
    }
    std::vector<int> domain_of(pieces.size.size(), -1);
    for (const auto& [segment, mine] : in_segment) {
      std::vector<DomainPiece> list;
      for (const int piece : mine) {
        const int worker = lowest[static_cast<std::size_t>(piece)];
        list.push_back({model.units.of[static_cast<std::size_t>(worker)],
                        pieces.size[static_cast<std::size_t>(piece)]});
      }
      const std::vector<int> found = FillDomains(DomainsOf(room, SegmentId(segment)), list);
      if (found.empty()) return false;
      for (std::size_t i = 0; i < mine.size(); ++i) {
        domain_of[static_cast<std::size_t>(mine[i])] = found[i];
      }
    }
    SetDomains(pieces, domain_of, plan);
    return true;
  }

  void SetDomains(const Partition& pieces, const std::vector<int>& domain_of,
                  SegmentPlan& plan) const {
    plan.domain_of_worker.clear();
    plan.segment_of_worker.clear();
    for (const int piece : pieces.of) {
      const int domain = domain_of[static_cast<std::size_t>(piece)];
      plan.domain_of_worker.push_back(domain);
      plan.segment_of_worker.push_back(places_.segment_of(DomainId(domain)).value);
    }
    plan.found = true;
    plan.exact = false;
    plan.objective = EvaluateDomains(places_, groups_, plan.domain_of_worker);
  }

  // Each used segment gives way to an unused one of its fabric pod, or of any where the gang uses
  // one segment only, that needs fewer domains for its workers; of those the one that scores least.
  void ExchangeSegments(const GangModel& model, const Capacity& room,
                        std::vector<int>& segment_of_worker) const {
    std::map<int, int> workers;
    for (const int segment : segment_of_worker) ++workers[segment];
    std::set<int> taken;
    for (const auto& [segment, count] : workers) taken.insert(segment);
    const bool single = workers.size() == 1;
    std::map<int, int> target;
    for (const auto& [from, count] : workers) {
      const SegmentId here(from);
      const int needs = DomainsIn(room, here, count);
      std::optional<std::tuple<int, SegmentScore, int>> best;
      for (SegmentId to : places_.segments()) {
        if (!single && places_.fabric_pod_of(to) != places_.fabric_pod_of(here)) continue;
        if (room.of_segment[to.index()] < count || taken.count(to.value) != 0) continue;
        SegmentScore score = problem_.scores[to.index()];
        if (single) score.load = 0;
        const std::tuple key{DomainsIn(room, to, count), score, to.value};
        if (std::get<0>(key) < needs && (!best || key < *best)) best = key;
      }
      target[from] = best ? std::get<2>(*best) : from;
      taken.erase(from);
      taken.insert(target[from]);
    }
    for (int& segment : segment_of_worker) segment = target[segment];
    OrderStages(model, segment_of_worker);
  }

  // Betters `best`, or proves it, where the gang is small.
  void Search(const Partition& pieces, SegmentPlan& best) const {
    if (best.found && pieces.count() > kMaxSearchedPieces) return;
    SearchProblem problem = ProblemOf(places_, model_, groups_, capacity_, pieces);
    problem.segment_set = SegmentSets(pieces);
    problem.capacity = capacity_.of_domain;
    problem.class_capacities.clear();
    for (DomainId domain : places_.domains()) {
      problem.segment_of_domain.push_back(places_.segment_of(domain).value);
      if (capacity_.classes.any()) problem.class_capacities.push_back(ClassesIn(domain));
    }
    const auto incumbent = best.found ? std::optional(best.objective) : std::nullopt;
    const SearchResult found = SearchPlaces(problem, {max_steps_, incumbent, false});
    best.exact = found.exact;
    best.bound = std::max(best.bound, found.bound);
    if (found.place.empty()) return;
    SetDomains(pieces, found.place, best);
    best.exact = found.exact || best.objective <= best.bound;
  }

  // The sets that share a segment, as unions of pieces.
  std::vector<int> SegmentSets(const Partition& pieces) const {
    std::vector<workload::WorkerGroup> atoms(model_.atoms.size.size());
    for (int w = 0; w < model_.workers; ++w) {
      atoms[static_cast<std::size_t>(model_.atoms.of[static_cast<std::size_t>(w)])]
          .workers.push_back(w);
    }
    return HomeOf(pieces, Joined(pieces, {&atoms}));
  }

  std::vector<ClassCapacity> ClassesIn(DomainId domain) const {
    std::vector<ClassCapacity> out;
    for (fabric::HostId host : places_.hosts_of(domain)) {
      const int workers = capacity_.of_host[host.index()];
      if (workers == 0) continue;
      AddCapacity(out, {capacity_.classes.of_host[host.index()], workers});
    }
    return out;
  }

  const SegmentProblem& problem_;
  const fabric::Places& places_;
  const GangModel& model_;
  const workload::WorkerGroups& groups_;
  const Cluster& cluster_;
  const Capacity& capacity_;
  const std::int64_t max_steps_;
};

}  // namespace

SegmentPlan ChooseDomains(const SegmentProblem& problem, const Cluster& cluster,
                          const Capacity& capacity, std::int64_t max_steps) {
  return DomainSolver(problem, cluster, capacity, max_steps).Run();
}

}  // namespace yardmaster::placement
