#include "pkg/placement/reasons/explain.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include "pkg/base/strings.h"
#include "pkg/fabric/places.h"
#include "pkg/placement/reasons/relaxations.h"
#include "pkg/placement/reasons/resource_shortages.h"
#include "pkg/placement/solver/gang_solver.h"
#include "pkg/placement/worker_need.h"

namespace yardmaster::placement {

namespace {

using fabric::HostId;
using workload::Enforcement;
using workload::GroupPolicy;
using workload::PlacementPolicy;
using workload::TopologyLevel;
using workload::WorkerGroup;

// How many more hosts a set of places needs to hold `pieces` of `size` workers each, and where the
// first of them is missing.
struct Shortage {
  std::int64_t workers = 0;
  int place = -1;         // nearest to taking one more piece
  int nearest = 0;        // workers missing there
  std::int64_t held = 0;  // pieces that fit
};

Shortage ShortageOf(const std::vector<std::int64_t>& capacities, std::int64_t size,
                    std::int64_t pieces) {
  Shortage out;
  std::vector<std::pair<std::int64_t, int>> missing;  // to one more piece, by place
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    out.held += capacities[i] / size;
    missing.push_back({size - capacities[i] % size, static_cast<int>(i)});
  }
  if (out.held >= pieces) return out;
  std::sort(missing.begin(), missing.end());
  out.place = missing[0].second;
  out.nearest = static_cast<int>(missing[0].first);
  std::int64_t more = pieces - out.held;
  for (std::size_t i = 0; i < missing.size() && more > 0; ++i, --more) {
    out.workers += missing[i].first;
  }
  out.workers += more * size;
  return out;
}

constexpr std::string_view kUnitOfHosts = "unit of hosts";

class Explainer {
 public:
  Explainer(const Cluster& cluster, const GangRequest& request, const GangModel& model,
            const Capacity& now, const PlannerOptions& options, GangPlan& plan)
      : cluster_(cluster),
        places_(*cluster.places),
        request_(request),
        model_(model),
        now_(now),
        empty_(CapacityFor(cluster, request, model, {true, false})),
        options_(options),
        plan_(plan),
        need_(cluster, *request.job) {}

  void Run(NotPlaced why) {
    const Fit empty = TryToFit(places_, model_, *request_.groups, empty_, options_.max_steps);
    plan_.outcome = empty == Fit::kNo ? Outcome::kNever : Outcome::kNotNow;
    if (why == NotPlaced::kHostsNotFound) {
      plan_.optimal = false;
      Add(ReasonCode::kSearchCut, TopologyLevel::kHost, 0,
          "the segments that were chosen have room, but workers that must share a host found none "
          "there; other segments were not tried");
    } else if (why == NotPlaced::kSearchCut || empty == Fit::kUnknown) {
      plan_.optimal = false;
      plan_.reasons.push_back(
          {ReasonCode::kSearchCut, TopologyLevel::kFabric, options_.max_steps,
           StrCat("the search was cut after ", options_.max_steps, " steps without a placement")});
    }
    const Capacity& view = plan_.outcome == Outcome::kNever ? empty_ : now_;
    if (WorkerTooLarge()) return;
    if (!HostSetTooLarge() && why != NotPlaced::kHostsNotFound) FindShortages(view);
    CountHosts();
    if (options_.explain) {
      FindRelaxations(cluster_, request_, model_, now_, empty_, options_, plan_);
    }
  }

 private:
  bool never() const { return plan_.outcome == Outcome::kNever; }
  void Add(ReasonCode code, TopologyLevel level, std::int64_t count, std::string message) {
    plan_.reasons.push_back({code, level, count, std::move(message)});
  }

  int MostGpus() const {
    int most = 0;
    for (const HostState& host : cluster_.hosts) most = std::max<int>(most, host.gpus);
    return most;
  }

  // Workers that must share a host and find none large enough.
  bool HostSetTooLarge() {
    const int most = MostGpus();
    const int needed = model_.host_set_size * need_.gpus();
    if (needed <= most) return false;
    Add(ReasonCode::kGroupTooLarge, TopologyLevel::kHost, needed - most,
        StrCat("a ", NameOf(TopologyLevel::kHost), " must lie in one host: its ",
               Count(model_.host_set_size, "worker"), " need ", needed,
               " GPUs there and no host has more than ", most));
    return true;
  }

  bool WorkerTooLarge() {
    const int most = MostGpus();
    if (need_.gpus() <= most && !cluster_.hosts.empty()) return false;
    if (most == 0) {
      Add(ReasonCode::kNotEnoughHosts, TopologyLevel::kFabric, model_.workers,
          "there are no hosts: no Node has GPUs and the labels that say its place");
      return true;
    }
    Add(ReasonCode::kGroupTooLarge, TopologyLevel::kHost, need_.gpus() - most,
        StrCat("a worker needs ", need_.gpus(), " GPUs on one host and no host has more than ",
               most));
    return true;
  }

  void FindShortages(const Capacity& view) {
    const std::string_view has = never() ? " in all" : " free";
    const std::size_t before = plan_.reasons.size();
    ClassShortages(view, has);
    // Workers one by one, not in whole domain sets.
    const std::vector<std::int64_t> domains = RoomOfDomains(view);
    std::vector<std::int64_t> segments(view.of_segment.begin(), view.of_segment.end());
    std::int64_t total = view.total;
    if (model_.has_domains) {
      total = std::accumulate(domains.begin(), domains.end(), std::int64_t{0});
      std::fill(segments.begin(), segments.end(), 0);
      for (fabric::DomainId domain : places_.domains()) {
        segments[places_.segment_of(domain).index()] += domains[domain.index()];
      }
    }
    fabric_is_short_ = total < model_.workers;
    if (fabric_is_short_) {
      const std::int64_t short_by = empty_.HostsFor(model_.workers - total);
      Add(ReasonCode::kNotEnoughHosts, TopologyLevel::kFabric, short_by,
          StrCat(Count(short_by, "host"), " short in the fabric: the gang needs ",
                 empty_.HostsFor(model_.workers), " and there are ", empty_.HostsFor(total), has));
    }
    std::vector<std::int64_t> pods(static_cast<std::size_t>(places_.num_fabric_pods()), 0);
    for (fabric::SegmentId s : places_.segments()) {
      pods[places_.fabric_pod_of(s).index()] += segments[s.index()];
    }
    if (model_.has_domains &&
        (model_.domain_unit > 0 || model_.domain_sets.count() < model_.host_sets.count())) {
      Limit(TopologyLevel::kDomain, model_.domain_sets, domains, has);
    }
    Limit(TopologyLevel::kSegment, model_.atoms, segments, has);
    Limit(TopologyLevel::kFabricPod, model_.pod_sets, pods, has);
    if (model_.max_stages_per_segment > 0 && plan_.reasons.size() == before) StageLimit(segments);
    if (plan_.reasons.size() == before) {
      Add(ReasonCode::kNotEnoughHosts, TopologyLevel::kSegment, 0,
          "each group would fit by itself, but not all of them at once within their limits");
    }
  }

  // Ranks whose own constraints leave them too few hosts.
  void ClassShortages(const Capacity& view, std::string_view has) {
    const std::vector<ClassCapacity> capacities = view.classes.Total();
    ClassCounts workers(static_cast<std::size_t>(view.classes.num_classes), 0);
    for (const std::uint8_t c : view.classes.class_of_worker) ++workers[c];
    const std::size_t before = plan_.reasons.size();
    for (int c = 0; c < view.classes.num_classes; ++c) {
      const std::int64_t usable = CapacityForClass(capacities, c);
      if (usable >= workers[static_cast<std::size_t>(c)]) continue;
      const std::int64_t short_by = empty_.HostsFor(workers[static_cast<std::size_t>(c)] - usable);
      Add(ReasonCode::kNotEnoughHosts, TopologyLevel::kFabric, short_by,
          StrCat(Count(short_by, "host"), " short for ", RanksOfClass(view.classes, c), ": ",
                 Count(empty_.HostsFor(workers[static_cast<std::size_t>(c)]), "host"), " needed, ",
                 empty_.HostsFor(usable), " that the pods may use", has));
    }
    if (!view.classes.any() || plan_.reasons.size() > before || Fits(workers, capacities)) return;
    Add(ReasonCode::kNotEnoughHosts, TopologyLevel::kFabric, 0,
        "each role has enough hosts that its pods may use, but some hosts are counted for several "
        "roles");
  }

  // "rank 0", "ranks 1 to 3, 8": of many runs the first three.
  static std::string RanksOfClass(const ClassCapacities& classes, int class_number) {
    const std::vector<std::uint8_t>& of = classes.class_of_worker;
    std::vector<std::string> runs;
    std::size_t ranks = 0;
    for (std::size_t first = 0; first < of.size();) {
      std::size_t end = first + 1;
      while (end < of.size() && of[end] == of[first]) ++end;
      if (of[first] == class_number) {
        ranks += end - first;
        runs.push_back(end == first + 1 ? StrCat(first) : StrCat(first, " to ", end - 1));
      }
      first = end;
    }
    const std::string_view more = runs.size() > 3 ? " and others" : "";
    runs.resize(std::min<std::size_t>(runs.size(), 3));
    return StrCat(ranks == 1 ? "rank " : "ranks ", Join(runs, ", "), more);
  }

  // The required group that is largest at this level gives the sets their name.
  std::string_view NameOf(TopologyLevel level) const {
    const PlacementPolicy& policy = request_.job->placement;
    const workload::WorkerGroups& groups = *request_.groups;
    const std::tuple<const GroupPolicy*, const std::vector<WorkerGroup>*, std::string_view>
        families[] = {{&policy.data, &groups.data, "data group"},
                      {&policy.expert, &groups.expert, "expert group"},
                      {&policy.context, &groups.context, "context group"},
                      {&policy.tensor, &groups.tensor, "tensor group"}};
    if (level == TopologyLevel::kDomain && model_.domain_unit > 0) return kUnitOfHosts;
    std::string_view name = "pipeline group";
    std::size_t largest = 0;
    for (const auto& [group_policy, family, text] : families) {
      if (group_policy->mode != Enforcement::kRequired || group_policy->within > level) continue;
      for (const WorkerGroup& group : *family) {
        if (group.workers.size() <= largest) continue;
        largest = group.workers.size();
        name = text;
      }
    }
    return name;
  }

  static std::string Plural(std::string_view name) {
    return name == kUnitOfHosts ? "units of hosts" : StrCat(name, "s");
  }

  std::string PlaceName(TopologyLevel level, int place) const {
    if (level == TopologyLevel::kDomain) {
      return StrCat("domain ", places_.name(fabric::DomainId(place)));
    }
    return level == TopologyLevel::kSegment
               ? StrCat("segment ", DistinctName(places_, fabric::SegmentId(place)))
               : StrCat("fabric pod ", places_.name(fabric::FabricPodId(place)));
  }

  // Empty where there are none.
  std::vector<std::int64_t> RoomOfDomains(const Capacity& view) const {
    std::vector<std::int64_t> workers;
    if (!model_.has_domains) return workers;
    for (fabric::DomainId domain : places_.domains()) {
      workers.push_back(0);
      for (HostId host : places_.hosts_of(domain)) workers.back() += view.of_host[host.index()];
      // It takes one unit at most.
      if (model_.domain_unit > 0) {
        workers.back() = std::min<std::int64_t>(workers.back(), model_.domain_unit);
      }
    }
    return workers;
  }

  static std::string_view NounOf(TopologyLevel level) {
    if (level == TopologyLevel::kDomain) return "domain";
    return level == TopologyLevel::kSegment ? "segment" : "fabric pod";
  }

  void Limit(TopologyLevel level, const Partition& sets,
             const std::vector<std::int64_t>& capacities, std::string_view has) {
    // The last unit may be smaller; its domain may not.
    const bool units = level == TopologyLevel::kDomain && model_.domain_unit > 0;
    const int largest = std::max(*std::max_element(sets.size.begin(), sets.size.end()),
                                 units ? model_.domain_unit : 0);
    if (largest == 1 && !units) return;
    // Of a gang that is one group, in a fabric that is one place of this level, all is said.
    if (fabric_is_short_ && largest == model_.workers && capacities.size() == 1) return;
    const std::int64_t alike =
        units ? sets.count() : std::count(sets.size.begin(), sets.size.end(), largest);
    const Shortage shortage = ShortageOf(capacities, largest, alike);
    if (shortage.workers == 0) return;
    const std::string_view text = NounOf(level);
    const std::string_view group = NameOf(level);
    const auto widest = std::max_element(capacities.begin(), capacities.end());
    if (*widest < largest) {
      const std::int64_t short_by = empty_.HostsFor(largest - *widest);
      Add(never() ? ReasonCode::kGroupTooLarge : ReasonCode::kNotEnoughHosts, level, short_by,
          StrCat(Count(short_by, "host"), " short in ",
                 PlaceName(level, static_cast<int>(widest - capacities.begin())), ": a ", group,
                 " needs ", empty_.HostsFor(largest), " in one ", text, " and no ", text,
                 " has more than ", empty_.HostsFor(*widest), has));
      return;
    }
    const std::int64_t short_by = empty_.HostsFor(shortage.nearest);
    Add(ReasonCode::kNotEnoughHosts, level, empty_.HostsFor(shortage.workers),
        StrCat(Count(short_by, "host"), " short in ", PlaceName(level, shortage.place),
               ": there is room for ", shortage.held, " of ", alike, " ", Plural(group),
               " that each need ", empty_.HostsFor(largest), " in one ", text));
  }

  void StageLimit(const std::vector<std::int64_t>& capacities) {
    std::size_t of_worker = 0;
    for (const std::vector<int>& stages : request_.groups->stages_of_worker) {
      of_worker = std::max(of_worker, stages.size());
    }
    const auto most = static_cast<std::size_t>(model_.max_stages_per_segment);
    if (of_worker > most) {
      Add(ReasonCode::kGroupTooLarge, TopologyLevel::kSegment, 0,
          StrCat("one worker holds ", of_worker, " stages and at most ",
                 Count(model_.max_stages_per_segment, "stage"), " may share a segment"));
      return;
    }
    const auto usable =
        std::count_if(capacities.begin(), capacities.end(), [](auto r) { return r > 0; });
    Add(ReasonCode::kNotEnoughHosts, TopologyLevel::kSegment, 0,
        StrCat("at most ", Count(model_.max_stages_per_segment, "stage"),
               " may share a segment, and ", Count(usable, "segment"),
               " with room cannot take all ", request_.groups->workers_of_stage.size()));
  }

  void CountHosts() {
    std::int64_t out = 0, backup = 0, excluded = 0, reserved = 0;
    ResourceShortages shortages(cluster_, never());
    for (fabric::HostId id : places_.hosts()) {
      const HostState& host = cluster_.hosts[id.index()];
      if (host.gpus < need_.gpus()) continue;
      if (!request_.Allows(id)) {
        ++excluded;
      } else if (host.backup) {
        ++backup;
      } else if (never()) {
        shortages.Note(id, need_.ShortOf(cluster_, id, /*empty=*/true));
      } else if (host.unavailable != Unavailability::kNo) {
        ++out;
      } else if (host.reserved_for >= 0 && host.reserved_for != request_.queue_index) {
        ++reserved;
      } else if (host.free_gpus < need_.gpus()) {
        plan_.occupied.push_back(id);
      } else {
        shortages.Note(id, need_.ShortOf(cluster_, id, /*empty=*/false));
      }
    }
    auto add = [&](ReasonCode code, std::int64_t count, std::string_view what) {
      if (count > 0) {
        Add(code, TopologyLevel::kFabric, count, StrCat(Count(count, "host"), " ", what));
      }
    };
    if (!never()) {
      add(ReasonCode::kHostsOccupied, static_cast<std::int64_t>(plan_.occupied.size()), "in use");
      add(ReasonCode::kHostsOut, out, "not ready, cordoned or tainted");
      add(ReasonCode::kReserved, reserved, "reserved for a job that waits longer");
    }
    shortages.AppendReasons(plan_.reasons);
    add(ReasonCode::kHostsKeptAsBackup, backup, "kept as backup");
    add(ReasonCode::kHostsExcluded, excluded,
        "left out by the pods' selectors, tolerations or volumes");
  }

  const Cluster& cluster_;
  const fabric::Places& places_;
  const GangRequest& request_;
  const GangModel& model_;
  const Capacity& now_;
  const Capacity empty_;
  const PlannerOptions& options_;
  GangPlan& plan_;
  const WorkerNeed need_;
  bool fabric_is_short_ = false;  // fewer hosts than the gang needs
};

}  // namespace

void Explain(const Cluster& cluster, const GangRequest& request, const GangModel& model,
             const Capacity& now, NotPlaced why, const PlannerOptions& options, GangPlan& plan) {
  Explainer(cluster, request, model, now, options, plan).Run(why);
}

}  // namespace yardmaster::placement
