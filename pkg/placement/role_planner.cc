#include "pkg/placement/role_planner.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/placement/alike_planner.h"
#include "pkg/placement/role_proof.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/worker_need.h"

namespace yardmaster::placement {

namespace {

using fabric::HostId;
using workload::Enforcement;
using workload::TopologyLevel;

// By HostId: whether the gang may use the host here.
using Region = std::vector<std::uint8_t>;

// Required limits of a whole assignment.
class Limits {
 public:
  Limits(const Cluster& cluster, const GangRequest& request)
      : places_(*cluster.places),
        groups_(*request.groups),
        model_(ModelFor(cluster, *request.job, *request.groups)) {}

  bool Hold(const std::vector<HostId>& hosts) const {
    const auto domain = [&](HostId host) { return places_.domain_of(host).value; };
    const auto segment = [&](HostId host) { return places_.segment_of(host).value; };
    const auto fabric_pod = [&](HostId host) { return places_.fabric_pod_of(host).value; };
    return Together(model_.host_sets, hosts, [](HostId host) { return host.value; }) &&
           (!model_.has_domains || Together(model_.domain_sets, hosts, domain)) &&
           Together(model_.atoms, hosts, segment) && Together(model_.pod_sets, hosts, fabric_pod) &&
           StagesHold(hosts);
  }

 private:
  template <typename PlaceOf>
  static bool Together(const Partition& sets, const std::vector<HostId>& hosts, PlaceOf place_of) {
    std::vector<std::int32_t> place(sets.size.size(), -1);
    for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
      std::int32_t& at = place[static_cast<std::size_t>(sets.of[worker])];
      if (at < 0) at = place_of(hosts[worker]);
      if (at != place_of(hosts[worker])) return false;
    }
    return true;
  }
  bool StagesHold(const std::vector<HostId>& hosts) const {
    if (model_.max_stages_per_segment == 0) return true;
    std::map<fabric::SegmentId, std::set<int>> stages;
    for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
      const std::vector<int>& mine = groups_.stages_of_worker[worker];
      stages[places_.segment_of(hosts[worker])].insert(mine.begin(), mine.end());
    }
    return std::all_of(stages.begin(), stages.end(), [&](const auto& entry) {
      return static_cast<int>(entry.second.size()) <= model_.max_stages_per_segment;
    });
  }

  const fabric::Places& places_;
  const workload::WorkerGroups& groups_;
  const GangModel model_;
};

// The workers of one role as a gang of their own: what they ask for and the hosts that they may use
// are the same.
struct RoleGang {
  int first_rank = 0;
  const HostSet* hosts = nullptr;  // null: all that the gang may use
  workload::Job job;
  workload::WorkerGroups groups;
};

std::vector<RoleGang> RolesOf(const GangRequest& request) {
  const workload::Job& job = *request.job;
  const workload::WorkerGroups& groups = *request.groups;
  std::set<int> firsts = {0};
  for (const workload::Role& role : job.roles) firsts.insert(role.first_rank);
  for (std::size_t i = 0; request.role_hosts != nullptr && i < request.role_hosts->size(); ++i) {
    firsts.insert((*request.role_hosts)[i].first_rank);
  }
  std::vector<RoleGang> gangs;
  for (auto at = firsts.begin(); at != firsts.end(); ++at) {
    const int first = *at;
    const int end =
        std::next(at) == firsts.end() ? job.workers : std::min(*std::next(at), job.workers);
    if (first >= end) continue;
    RoleGang gang{first, nullptr, job, {}};
    if (request.role_hosts != nullptr) gang.hosts = HostsOfRank(*request.role_hosts, first);
    gang.job.workers = end - first;
    gang.job.requests = job.RequestsOf(first);
    gang.job.roles.clear();
    const int gpus = job.GpusOf(first);
    gang.job.gpus_per_worker = std::max(gpus, 1);
    gang.job.counts_gpus = job.counts_gpus && gpus > 0;
    gang.job.parallelism = workload::Parallelism{};
    gang.job.parallelism.data = gang.job.workers * gang.job.gpus_per_worker;
    gang.job.placement = {};
    // A worker without a number is in no group, and no limit is its own.
    const bool numbered = !groups.stages_of_worker[static_cast<std::size_t>(first)].empty();
    gang.job.placement.data = {TopologyLevel::kFabric, Enforcement::kPreferred};
    if (numbered) gang.job.placement.data = job.placement.data;
    gang.groups = workload::GroupsOf(gang.job);
    gangs.push_back(std::move(gang));
  }
  return gangs;
}

class RolePlanner {
 public:
  RolePlanner(const Cluster& cluster, const GangRequest& request, const PlannerOptions& options)
      : cluster_(cluster),
        places_(*cluster.places),
        request_(request),
        limits_(cluster, request),
        roles_(RolesOf(request)) {
    for (const RoleGang& role : roles_) needs_.emplace_back(cluster, role.job);
    quick_ = options;
    quick_.explain = false;
  }

  // The best place that is found; nothing: none.
  std::optional<GangPlan> Run() {
    failure_.clear();
    // Places within one segment are equal in the objective: the tightest will do.
    std::vector<std::pair<std::int64_t, fabric::SegmentId>> segments;
    for (fabric::SegmentId segment : places_.segments()) {
      const auto room = RoomFor(places_.hosts_of(segment));
      if (room) segments.emplace_back(room->left, segment);
    }
    std::sort(segments.begin(), segments.end());
    for (const auto& [left, segment] : segments) {
      Try(places_.hosts_of(segment));
      if (best_) return best_;
    }
    for (fabric::FabricPodId pod : places_.fabric_pods()) Try(places_.hosts_of(pod));
    if (!best_) Try(places_.hosts());
    return best_;
  }

  // After Run found nothing: in which order roles were tried in the whole fabric, and which of them
  // found no place.
  const std::string& failure() const { return failure_; }

 private:
  using Order = std::vector<std::size_t>;  // of roles_

  struct Room {
    std::int64_t left = 0;  // workers of any role, beyond those of the gang
    Order scarcest_first;
  };

  // Nothing: some role does not fit there even by itself.
  template <typename Hosts>
  std::optional<Room> RoomFor(const Hosts& hosts) {
    std::vector<std::pair<double, std::size_t>> order;
    Room out;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      const int workers = roles_[i].job.workers;
      std::int64_t room = 0;
      for (HostId host : hosts) {
        const HostState& state = cluster_.hosts[host.index()];
        const bool free = state.unavailable == Unavailability::kNo && !state.backup;
        if (free && request_.Allows(host) && IsIn(roles_[i].hosts, host)) {
          room += needs_[i].RoomOn(cluster_, host);
        }
      }
      if (room < workers) {
        failure_ = StrCat("even alone there is room for only ", room, " of ", NameOf(i));
        return std::nullopt;
      }
      order.emplace_back(static_cast<double>(room) / workers, i);
      out.left += room - workers;
    }
    std::sort(order.begin(), order.end());
    for (const auto& [share, role] : order) out.scarcest_first.push_back(role);
    return out;
  }

  // Keeps the place if it is the best so far.
  template <typename Hosts>
  void Try(const Hosts& hosts) {
    auto room = RoomFor(hosts);
    if (!room) return;
    Region region(cluster_.hosts.size(), 0);
    for (HostId host : hosts) region[host.index()] = request_.Allows(host) ? 1 : 0;
    std::optional<std::vector<HostId>> found;
    for (const Order& order : OrdersOf(room->scarcest_first)) {
      found = PlaceIn(region, order);
      if (found) break;
    }
    if (!found) return;
    const std::tuple key{Evaluate(places_, *request_.groups, *found), room->left};
    if (best_ && best_key_ <= key) return;
    best_key_ = key;
    best_.emplace();
    best_->outcome = Outcome::kPlaced;
    best_->host_of_rank = *std::move(found);
    best_->objective = std::get<Objective>(key);
    best_->bound = {};
    best_->bound.fabric_pods = best_->bound.segments = 1;
    best_->optimal = best_->objective == best_->bound;
  }

  // Each of these once: the scarcest first, the scarcest last, the most GPUs first.
  std::vector<Order> OrdersOf(const Order& scarcest_first) const {
    Order reverse(scarcest_first.rbegin(), scarcest_first.rend());
    Order by_gpus = scarcest_first;
    std::stable_sort(by_gpus.begin(), by_gpus.end(), [&](std::size_t a, std::size_t b) {
      return needs_[a].gpus() > needs_[b].gpus();
    });
    std::vector<Order> orders{scarcest_first};
    for (const Order& order : {reverse, by_gpus}) {
      if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(order);
    }
    return orders;
  }

  std::string NameOf(std::size_t role) const {
    const RoleGang& gang = roles_[role];
    const int last = gang.first_rank + gang.job.workers - 1;
    return StrCat(last == gang.first_rank ? StrCat("rank ", last)
                                          : StrCat("ranks ", gang.first_rank, " to ", last),
                  " (", Count(gang.job.workers, "worker"), " of ",
                  Count(request_.job->GpusOf(gang.first_rank), "GPU"), ")");
  }

  void NoteFailure(const Order& order, std::size_t at) {
    std::vector<std::string> before;
    for (std::size_t i = 0; i < at; ++i) before.push_back(NameOf(order[i]));
    failure_ = StrCat(before.empty() ? "" : StrCat("after ", Join(before, ", then "), " "),
                      "there is no place for ", NameOf(order[at]));
  }

  // One role after the other, in segments that the gang is in already where they have room.
  std::optional<std::vector<HostId>> PlaceIn(const Region& region, const Order& order) {
    Cluster cluster = cluster_;
    std::vector<HostId> hosts(static_cast<std::size_t>(request_.job->workers));
    std::set<fabric::SegmentId> used;
    for (std::size_t at = 0; at < order.size(); ++at) {
      const std::size_t i = order[at];
      const RoleGang& role = roles_[i];
      GangPlan plan;
      for (const bool near : {true, false}) {
        if (near && used.empty()) continue;
        Region allowed = region;
        for (HostId host : places_.hosts()) {
          if (near && used.count(places_.segment_of(host)) == 0) allowed[host.index()] = 0;
          if (!IsIn(role.hosts, host)) allowed[host.index()] = 0;
        }
        plan =
            PlanAlike(cluster, {&role.job, &role.groups, &allowed, request_.queue_index}, quick_);
        if (plan.outcome == Outcome::kPlaced) break;
      }
      if (plan.outcome != Outcome::kPlaced) {
        NoteFailure(order, at);
        return std::nullopt;
      }
      for (std::size_t k = 0; k < plan.host_of_rank.size(); ++k) {
        const HostId host = plan.host_of_rank[k];
        hosts[static_cast<std::size_t>(role.first_rank) + k] = host;
        needs_[i].Take(cluster, host);
        used.insert(places_.segment_of(host));
      }
    }
    if (!limits_.Hold(hosts)) {
      failure_ = "where every role finds a place, a Required group would be parted";
      return std::nullopt;
    }
    return hosts;
  }

  const Cluster& cluster_;
  const fabric::Places& places_;
  const GangRequest& request_;
  const Limits limits_;
  const std::vector<RoleGang> roles_;
  std::vector<WorkerNeed> needs_;  // by role
  PlannerOptions quick_;
  std::string failure_;
  std::optional<GangPlan> best_;
  std::tuple<Objective, std::int64_t> best_key_;
};

Cluster EmptyAndHealthy(const Cluster& cluster) {
  Cluster empty = cluster;
  for (HostId host : cluster.places->hosts()) {
    EmptyHost(empty, host);
    empty.hosts[host.index()].unavailable = Unavailability::kNo;
    empty.hosts[host.index()].reserved_for = -1;
  }
  return empty;
}

bool IsCut(const GangPlan& plan) {
  return std::any_of(plan.reasons.begin(), plan.reasons.end(),
                     [](const Reason& reason) { return reason.code == ReasonCode::kSearchCut; });
}

}  // namespace

GangPlan PlanRoles(const Cluster& cluster, const GangRequest& request,
                   const PlannerOptions& options, GangPlan alike) {
  const bool placed = alike.outcome == Outcome::kPlaced;
  const bool gpus_differ = request.job->gpus_differ();
  const bool requests_differ = request.job->roles.size() > 1;
  // The search for the largest shape tells apart the hosts that ranks may use; it is exact unless
  // cut.
  if (!requests_differ && (placed ? alike.optimal : !IsCut(alike))) return alike;
  // A worker that was given the room of the largest may stand where a whole host was free.
  if (placed && !gpus_differ && alike.objective.segments == 1) return alike;
  RolePlanner planner(cluster, request, options);
  auto by_role = planner.Run();
  if (by_role && (!placed || by_role->objective < alike.objective ||
                  (gpus_differ && by_role->objective == alike.objective))) {
    return *std::move(by_role);
  }
  if (placed) {
    if (!requests_differ) return alike;
    alike.optimal = false;
    alike.bound = {};
    alike.bound.fabric_pods = alike.bound.segments = 1;
    return alike;
  }
  const std::string differ =
      requests_differ
          ? StrCat("its ", request.job->roles.size(),
                   " roles ask for different amounts; the counts are for the largest of each; ")
          : "its ranks may use different hosts; ";
  alike.reasons.push_back(
      {ReasonCode::kInsufficientResources, TopologyLevel::kFabric,
       static_cast<std::int64_t>(request.job->roles.size()),
       StrCat(differ, "a search role by role finds no place either: ", planner.failure())});
  if (requests_differ && alike.outcome == Outcome::kNever &&
      !RolesNeverFit(EmptyAndHealthy(cluster), request, options)) {
    alike.outcome = Outcome::kNotNow;
  }
  return alike;
}

}  // namespace yardmaster::placement
