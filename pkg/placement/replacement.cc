#include "pkg/placement/replacement.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "pkg/base/strings.h"
#include "pkg/fabric/places.h"
#include "pkg/placement/gpu_models.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/worker_need.h"

namespace yardmaster::placement {

namespace {

using fabric::HostId;
using fabric::SegmentId;
using workload::Enforcement;
using workload::TopologyLevel;

using Ranks = std::vector<int>;
using HostRange = fabric::IdRange<HostId>;

// Within a domain, which is a host where there are no domains, too.
bool AnyRequiredInHost(const workload::PlacementPolicy& p) {
  for (const auto* policy : {&p.tensor, &p.context, &p.expert, &p.data, &p.pipeline}) {
    if (policy->mode == Enforcement::kRequired && policy->within <= TopologyLevel::kDomain) {
      return true;
    }
  }
  return false;
}

class Replacer {
 public:
  Replacer(const Cluster& cluster, const GangRequest& request, std::vector<HostId> host_of_rank,
           const fabric::BackupPolicy& policy)
      : cluster_(cluster),
        places_(*cluster.places),
        request_(request),
        policy_(policy),
        needs_(cluster, *request.job),
        given_(std::move(host_of_rank)),
        host_of_(given_) {}

  GangPlan Run(Ranks lost) {
    const std::size_t workers = request_.groups->stages_of_worker.size();
    if (host_of_.size() != workers) {
      GangPlan plan;
      plan.outcome = Outcome::kNever;
      plan.reasons.push_back(
          {ReasonCode::kInvalid, TopologyLevel::kFabric, 1,
           StrCat("the assignment has ", host_of_.size(), " ranks for ", workers, " workers")});
      return plan;
    }
    std::erase_if(lost, [&](int rank) {
      return rank < 0 || static_cast<std::size_t>(rank) >= host_of_.size();
    });
    for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
      if (!Known(host_of_[rank])) lost.push_back(static_cast<int>(rank));
    }
    std::sort(lost.begin(), lost.end());
    lost.erase(std::unique(lost.begin(), lost.end()), lost.end());
    lost_.insert(lost.begin(), lost.end());
    for (int rank : lost) old_host_[rank] = host_of_[rank];
    if (!FillUnknown()) return Finish({});
    std::vector<Ranks> waiting;
    for (const Ranks& bundle : BundlesOf(lost)) {
      if (!PlaceNear(bundle)) waiting.push_back(bundle);
    }
    if (places_.has_domains()) waiting = LeaveDomains(waiting);
    if (!waiting.empty() && policy_.borrow_in_fabric_pod) waiting = Borrow(waiting);
    return Finish(waiting);
  }

 private:
  const GangModel& model() {
    if (!model_) model_ = ModelFor(cluster_, *request_.job, *request_.groups);
    return *model_;
  }

  bool Known(HostId host) const { return host.value >= 0 && host.value < places_.num_hosts(); }

  // A host that is not there any more is replaced here by the one of another rank: its segment is
  // looked through first. False if no rank has a known host.
  bool FillUnknown() {
    for (auto& [rank, old_host] : old_host_) {
      if (Known(old_host)) continue;
      const std::optional<int> near = NearestKnown(rank);
      if (!near) return false;
      gone_.insert(rank);
      host_of_[rank] = old_host = given_[*near];
    }
    return true;
  }
  // Of the ranks with a known host one that must share the segment, else one that must share the
  // fabric pod, else any: the one next to the first rank of the atom, so that an atom without a
  // host stays together.
  std::optional<int> NearestKnown(int rank) {
    const auto& atoms = model().atoms.of;
    const auto& pods = model().pod_sets.of;
    const auto first = std::find(atoms.begin(), atoms.end(), atoms[rank]) - atoms.begin();
    std::optional<std::tuple<bool, bool, std::int64_t, int>> best;
    for (int other = 0; other < model().workers; ++other) {
      if (!Known(given_[other])) continue;
      const std::tuple key{atoms[other] != atoms[rank], pods[other] != pods[rank],
                           std::abs(other - first), other};
      if (!best || key < *best) best = key;
    }
    return best ? std::optional(std::get<3>(*best)) : std::nullopt;
  }

  // Ranks that shared a host stay together, and those of a host set whose host is not known; in
  // order of their lowest rank.
  std::vector<Ranks> BundlesOf(const Ranks& lost) {
    std::map<std::pair<bool, int>, std::size_t> at;
    std::vector<Ranks> bundles;
    for (int rank : lost) {
      const bool gone = gone_.count(rank) > 0;
      const std::pair key{gone, gone ? model().host_sets.of[rank] : host_of_[rank].value};
      const auto [entry, is_new] = at.emplace(key, bundles.size());
      if (is_new) bundles.emplace_back();
      bundles[entry->second].push_back(rank);
    }
    return bundles;
  }

  // The parts a bundle may be cut into.
  std::vector<Ranks> PartsOf(const Ranks& bundle) {
    std::map<int, Ranks> parts;
    const bool units = AnyRequiredInHost(request_.job->placement);
    for (int rank : bundle) parts[units ? model().host_sets.of[rank] : rank].push_back(rank);
    std::vector<Ranks> out;
    for (auto& [unit, ranks] : parts) out.push_back(std::move(ranks));
    return out;
  }

  // A fabric pod holds its segments.
  bool borrows_in_segment() const {
    return policy_.borrow_in_segment || policy_.borrow_in_fabric_pod;
  }

  // In the domain of its host where there are some, else in the segment.
  bool PlaceNear(const Ranks& bundle) {
    const HostId host = host_of_[bundle[0]];
    return Place(bundle,
                 places_.has_domains() ? places_.hosts_of(places_.domain_of(host))
                                       : places_.hosts_of(places_.segment_of(host)),
                 true, borrows_in_segment());
  }

  // On one host if possible, else in parts; backup hosts before ordinary ones. All or nothing.
  bool Place(const Ranks& bundle, const HostRange& hosts, bool backup, bool ordinary) {
    for (const bool use_backup : {true, false}) {
      if (!(use_backup ? backup : ordinary)) continue;
      const HostId host = Find(hosts, use_backup, bundle);
      if (!host.valid()) continue;
      Give(bundle, host);
      return true;
    }
    const std::vector<Ranks> parts = PartsOf(bundle);
    if (parts.size() == 1) return false;
    const auto taken = taken_;
    for (const Ranks& part : parts) {
      HostId host;
      if (backup) host = Find(hosts, true, part);
      if (!host.valid() && ordinary) host = Find(hosts, false, part);
      if (!host.valid()) {
        taken_ = taken;
        for (int rank : bundle) host_of_[rank] = old_host_.at(rank);
        return false;
      }
      Give(part, host);
    }
    return true;
  }

  // The tightest, healthiest, lowest host with room; invalid if there is none.
  HostId Find(const HostRange& hosts, bool backup, const Ranks& ranks) const {
    std::optional<std::tuple<int, int, HostId>> best;
    for (HostId id : hosts) {
      const HostState& host = cluster_.hosts[id.index()];
      if (host.backup != backup || host.unavailable != Unavailability::kNo) continue;
      if (host.reserved_for >= 0 && host.reserved_for != request_.queue_index) continue;
      if (!Allowed(id, ranks) || LostHost(id)) continue;
      const std::optional<int> free = FreeGpusFor(id, ranks);
      if (!free) continue;
      const std::tuple key{host.degraded, *free, id};
      if (!best || key < *best) best = key;
    }
    return best ? std::get<HostId>(*best) : HostId();
  }
  bool Allowed(HostId host, const Ranks& ranks) const {
    return std::all_of(ranks.begin(), ranks.end(),
                       [&](int rank) { return request_.AllowsRank(host, rank); });
  }
  // GPUs of the host that are free before the ranks come; nothing: they do not fit beside what is
  // held there and what was given here.
  std::optional<int> FreeGpusFor(HostId id, const Ranks& ranks) const {
    static const Ranks kNone;
    const auto taken = taken_.find(id);
    const Ranks& given = taken == taken_.end() ? kNone : taken->second;
    const WorkerNeed& need = needs_.of(ranks[0]);
    const bool alike =
        std::all_of(ranks.begin(), ranks.end(), [&](int r) { return &needs_.of(r) == &need; }) &&
        std::all_of(given.begin(), given.end(), [&](int r) { return &needs_.of(r) == &need; });
    const int count = static_cast<int>(given.size());
    const int free = cluster_.hosts[id.index()].free_gpus - count * need.gpus();
    if (alike) {
      const bool fits = need.RoomOn(cluster_, id) - count >= static_cast<int>(ranks.size());
      return fits ? std::optional<int>(free) : std::nullopt;
    }
    // Rank by rank on a cluster of their own; only gangs of unlike workers come here.
    Cluster cluster = cluster_;
    for (const Ranks* list : {&given, &ranks}) {
      for (int rank : *list) {
        if (needs_.of(rank).RoomOn(cluster, id) < 1) return std::nullopt;
        needs_.of(rank).Take(cluster, id);
      }
    }
    return free;
  }
  // A host that ranks are taken away from does not get them back.
  bool LostHost(HostId id) const {
    return std::any_of(old_host_.begin(), old_host_.end(), [&](const auto& entry) {
      return entry.second == id && gone_.count(entry.first) == 0;
    });
  }

  void Give(const Ranks& ranks, HostId host) {
    Ranks& taken = taken_[host];
    taken.insert(taken.end(), ranks.begin(), ranks.end());
    for (int rank : ranks) host_of_[rank] = host;
  }

  // Gives what finds no host in its domain another place in the segment: its tensor and context
  // groups in one domain, if all of them are lost and one takes them, else each bundle wherever the
  // objective is best. What must share a domain leaves it as a whole or not at all. Returns what
  // still waits.
  std::vector<Ranks> LeaveDomains(const std::vector<Ranks>& waiting) {
    std::vector<Ranks> left;
    std::set<int> moved;
    for (const Ranks& bundle : waiting) {
      Ranks rest;
      for (int rank : bundle) {
        if (moved.count(rank) == 0) rest.push_back(rank);
      }
      if (rest.empty()) continue;
      const SegmentId segment = SegmentOfLost(rest);
      if (!Leave(WithLostGroups(rest), segment, moved) && !Leave(Parts(rest), segment, moved)) {
        left.push_back(rest);
      }
    }
    return left;
  }
  // Each set in a domain, all in one if some takes them.
  bool Leave(const std::vector<Ranks>& sets, SegmentId segment, std::set<int>& moved) {
    Ranks all;
    for (const Ranks& set : sets) all.insert(all.end(), set.begin(), set.end());
    if (!AllLost(all)) return false;
    const bool together = sets.size() > 1 && MoveTo({all}, segment, true, /*may_part=*/false);
    if (!together && !MoveTo(sets, segment, true)) return false;
    moved.insert(all.begin(), all.end());
    return true;
  }
  // Of each group of these ranks all of it where all is lost, else what of it must move with them.
  std::vector<Ranks> WithLostGroups(const Ranks& ranks) {
    std::vector<Ranks> out;
    for (const Ranks& of_group : SetsOf(GroupSets(), ranks)) {
      Ranks group = MembersOf(GroupSets(), of_group);
      if (AllLost(group)) {
        out.push_back(std::move(group));
      } else {
        for (Ranks& part : Parts(of_group)) out.push_back(std::move(part));
      }
    }
    return out;
  }
  // The sets that must share a domain; one of all where each rank may leave alone.
  std::vector<Ranks> Parts(const Ranks& ranks) {
    std::vector<Ranks> sets = SetsOf(model().domain_sets, MembersOf(model().domain_sets, ranks));
    const bool alone =
        std::all_of(sets.begin(), sets.end(), [](const Ranks& set) { return set.size() == 1; });
    return alone ? std::vector<Ranks>{ranks} : sets;
  }

  // What a domain should hold: a unit of hosts, else the groups whose bytes are most.
  const Partition& GroupSets() {
    if (model().domain_unit > 0) return model().domain_sets;
    if (!group_sets_) {
      const workload::WorkerGroups& groups = *request_.groups;
      group_sets_ = Joined(model().domain_sets, {&groups.tensor, &groups.context});
    }
    return *group_sets_;
  }
  // All ranks of the sets that these ranks are in, ascending.
  static Ranks MembersOf(const Partition& sets, const Ranks& ranks) {
    std::set<int> of;
    for (int rank : ranks) of.insert(sets.of[static_cast<std::size_t>(rank)]);
    Ranks members;
    for (std::size_t r = 0; r < sets.of.size(); ++r) {
      if (of.count(sets.of[r]) > 0) members.push_back(static_cast<int>(r));
    }
    return members;
  }
  bool AllLost(const Ranks& ranks) const {
    return std::all_of(ranks.begin(), ranks.end(), [&](int r) { return lost_.count(r) > 0; });
  }
  SegmentId SegmentOfLost(const Ranks& bundle) const {
    return places_.segment_of(old_host_.at(bundle[0]));
  }

  // Moves each of these sets of lost ranks into one domain of the segment, the one with the best
  // objective. With `may_part` a set that no domain has room for, and that need not lie in one,
  // takes any hosts of the segment. Either all sets move or none.
  bool MoveTo(const std::vector<Ranks>& sets, SegmentId segment, bool backup,
              bool may_part = true) {
    const auto hosts_before = host_of_;
    const auto taken_before = taken_;
    for (const Ranks& set : sets) ForgetPlaced(set);
    for (const Ranks& set : sets) {
      for (int rank : set) host_of_[rank] = old_host_.at(rank);
    }
    const bool ordinary = !backup || borrows_in_segment();
    for (const Ranks& set : sets) {
      if (PlaceInOneDomain(set, segment, backup, ordinary)) continue;
      const bool parts = may_part && model().domain_unit == 0 &&
                         std::all_of(set.begin(), set.end(), [&](int rank) {
                           return MembersOf(model().domain_sets, {rank}).size() == 1;
                         });
      if (parts && PlaceAll(set, places_.hosts_of(segment), backup, ordinary)) continue;
      host_of_ = hosts_before;
      taken_ = taken_before;
      return false;
    }
    return true;
  }
  bool PlaceInOneDomain(const Ranks& set, SegmentId segment, bool backup, bool ordinary) {
    const auto hosts_before = host_of_;
    const auto taken_before = taken_;
    std::optional<std::tuple<Objective, fabric::DomainId>> best;
    auto best_hosts = host_of_;
    auto best_taken = taken_;
    for (const fabric::DomainId domain : places_.domains_of(segment)) {
      host_of_ = hosts_before;
      taken_ = taken_before;
      if (!UnitFits(set, domain)) continue;
      if (!PlaceAll(set, places_.hosts_of(domain), backup, ordinary)) continue;
      const std::tuple key{Evaluate(places_, *request_.groups, host_of_), domain};
      if (best && *best <= key) continue;
      best = key;
      best_hosts = host_of_;
      best_taken = taken_;
    }
    host_of_ = std::move(best_hosts);
    taken_ = std::move(best_taken);
    return best.has_value();
  }
  bool PlaceAll(const Ranks& ranks, const HostRange& hosts, bool backup, bool ordinary) {
    const std::vector<Ranks> bundles = BundlesOf(ranks);
    return std::all_of(bundles.begin(), bundles.end(),
                       [&](const Ranks& bundle) { return Place(bundle, hosts, backup, ordinary); });
  }
  // A domain holds one unit of hosts.
  bool UnitFits(const Ranks& set, fabric::DomainId domain) {
    if (model().domain_unit == 0) return true;
    if (SetsOf(model().domain_sets, set).size() > 1) return false;
    for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
      const bool moves = std::find(set.begin(), set.end(), static_cast<int>(rank)) != set.end();
      if (!moves && places_.domain_of(host_of_[rank]) == domain) return false;
    }
    return true;
  }

  // Moves what waits to another segment of its fabric pod. What must share a segment moves as one,
  // and only if no rank of it stays. Returns what still waits.
  std::vector<Ranks> Borrow(const std::vector<Ranks>& waiting) {
    std::map<int, std::vector<Ranks>> by_atom;
    std::vector<Ranks> left;
    for (const Ranks& bundle : waiting) {
      std::map<int, Ranks> parts;
      for (int rank : bundle) parts[model().atoms.of[rank]].push_back(rank);
      for (auto& [atom, ranks] : parts) by_atom[atom].push_back(std::move(ranks));
    }
    for (const auto& [atom, bundles] : by_atom) {
      Ranks members;
      for (int rank = 0; rank < model().workers; ++rank) {
        if (model().atoms.of[rank] == atom) members.push_back(rank);
      }
      const bool all_lost = std::all_of(members.begin(), members.end(),
                                        [&](int rank) { return lost_.count(rank) > 0; });
      if (!all_lost || !Move(members)) left.insert(left.end(), bundles.begin(), bundles.end());
    }
    return left;
  }

  // To the segment that leaves the best objective.
  bool Move(const Ranks& members) {
    const auto before = host_of_;
    const auto taken_before = taken_;
    ForgetPlaced(members);
    const auto start = taken_;
    const fabric::FabricPodId pod = places_.fabric_pod_of(old_host_.at(members[0]));
    std::optional<std::tuple<Objective, SegmentId>> best;
    std::vector<HostId> best_hosts;
    auto best_taken = taken_;
    for (SegmentId segment : places_.segments_of(pod)) {
      taken_ = start;
      for (int rank : members) host_of_[rank] = old_host_.at(rank);
      const bool placed = places_.has_domains()
                              ? MoveTo(SetsOf(GroupSets(), members), segment, false)
                              : PlaceAll(members, places_.hosts_of(segment), false, true);
      if (!placed || !StagesFit(segment)) continue;
      const std::tuple key{Evaluate(places_, *request_.groups, host_of_), segment};
      if (best && *best <= key) continue;
      best = key;
      best_hosts = host_of_;
      best_taken = taken_;
    }
    host_of_ = best ? best_hosts : before;
    taken_ = best ? best_taken : taken_before;
    return best.has_value();
  }

  static std::vector<Ranks> SetsOf(const Partition& partition, const Ranks& members) {
    std::map<int, Ranks> sets;
    for (int rank : members) sets[partition.of[static_cast<std::size_t>(rank)]].push_back(rank);
    std::vector<Ranks> out;
    for (auto& [set, ranks] : sets) out.push_back(std::move(ranks));
    return out;
  }

  // Gives back the hosts that some of the members were given in their own segment.
  void ForgetPlaced(const Ranks& members) {
    for (int rank : members) {
      if (host_of_[rank] != old_host_.at(rank)) {
        std::erase(taken_[host_of_[rank]], rank);
      }
    }
  }

  bool StagesFit(SegmentId segment) const {
    const int limit = request_.job->placement.max_stages_per_segment;
    if (limit == 0) return true;
    std::set<int> stages;
    for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
      if (places_.segment_of(host_of_[rank]) != segment) continue;
      const std::vector<int>& mine = request_.groups->stages_of_worker[rank];
      stages.insert(mine.begin(), mine.end());
    }
    return static_cast<int>(stages.size()) <= limit;
  }

  GangPlan Finish(const std::vector<Ranks>& waiting) {
    GangPlan plan;
    if (gone_.empty() &&
        !std::all_of(host_of_.begin(), host_of_.end(), [&](HostId host) { return Known(host); })) {
      plan.reasons.push_back({ReasonCode::kInvalid, TopologyLevel::kFabric, 1,
                              "no rank of the gang has a host that is still there"});
      return plan;
    }
    if (waiting.empty()) {
      plan.outcome = Outcome::kPlaced;
      plan.objective = plan.bound = Evaluate(places_, *request_.groups, host_of_);
      plan.optimal = false;
      plan.host_of_rank = std::move(host_of_);
      return plan;
    }
    std::map<SegmentId, std::int64_t> missing;
    std::map<fabric::DomainId, std::int64_t> missing_in_domain;
    for (const Ranks& bundle : waiting) {
      const HostId host = old_host_.at(bundle[0]);
      if (places_.has_domains() && MembersOf(model().domain_sets, {bundle[0]}).size() > 1) {
        ++missing_in_domain[places_.domain_of(host)];
      } else {
        ++missing[places_.segment_of(host)];
      }
    }
    for (const auto& [domain, count] : missing_in_domain) {
      plan.reasons.push_back(
          {ReasonCode::kNotEnoughHosts, TopologyLevel::kDomain, count,
           StrCat(Count(count, "host"), " short in domain ", places_.name(domain),
                  ", which a group must not leave in part: ", Searched())});
    }
    for (const auto& [segment, count] : missing) {
      plan.reasons.push_back({ReasonCode::kNotEnoughHosts, TopologyLevel::kSegment, count,
                              StrCat(Count(count, "host"), " short in segment ",
                                     DistinctName(places_, segment), ": ", Searched())});
    }
    SuggestBorrowing(plan);
    return plan;
  }

  // What the backup policy allowed to look for.
  std::string_view Searched() const {
    if (policy_.borrow_in_fabric_pod)
      return "no free host that may step in, in it or its fabric pod";
    return policy_.borrow_in_segment ? "no free backup or ordinary host in it"
                                     : "no free backup host in it";
  }

  void SuggestBorrowing(GangPlan& plan) const {
    if (!policy_.borrow_in_segment) plan.relaxations.push_back(Wider("borrowInSegment", true));
    if (!policy_.borrow_in_fabric_pod) {
      plan.relaxations.push_back(Wider("borrowInFabricPod", false));
    }
    std::erase_if(plan.relaxations,
                  [](const Relaxation& r) { return r.outcome != Outcome::kPlaced; });
  }

  Relaxation Wider(std::string_view field, bool segment_only) const {
    fabric::BackupPolicy wider = policy_;
    wider.borrow_in_segment = true;
    if (!segment_only) wider.borrow_in_fabric_pod = true;
    // Both flags on: no further suggestion, so this does not recurse deeper than once.
    Replacer again(cluster_, request_, given_, wider);
    Ranks lost(lost_.begin(), lost_.end());
    return {StrCat("backup.", field, ": true"), again.Run(std::move(lost)).outcome};
  }

  const Cluster& cluster_;
  const fabric::Places& places_;
  const GangRequest& request_;
  const fabric::BackupPolicy policy_;
  const NeedsByRank needs_;
  const std::vector<HostId> given_;  // by rank
  std::vector<HostId> host_of_;
  std::map<int, HostId> old_host_;  // by lost rank
  std::set<int> lost_;
  std::set<int> gone_;             // lost ranks whose host is not among the places any more
  std::map<HostId, Ranks> taken_;  // ranks given to the host here
  std::optional<GangModel> model_;
  std::optional<Partition> group_sets_;
};

}  // namespace

GangPlan ReplaceHosts(const Cluster& cluster, const GangRequest& request,
                      const std::vector<HostId>& host_of_rank, const std::vector<int>& lost,
                      const fabric::BackupPolicy& policy) {
  const auto same_model = HostsForRanks(cluster, request, host_of_rank, lost);
  GangRequest allowed_hosts = request;
  if (same_model) allowed_hosts.eligible = &*same_model;
  return Replacer(cluster, allowed_hosts, host_of_rank, policy).Run(lost);
}

}  // namespace yardmaster::placement
