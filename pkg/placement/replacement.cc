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
#include "pkg/placement/replacement_hosts.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

namespace {

using fabric::HostId;
using fabric::SegmentId;
using workload::Enforcement;
using workload::TopologyLevel;

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
        given_(std::move(host_of_rank)),
        hosts_(cluster, request, given_) {}

  GangPlan Run(Ranks lost) {
    const std::size_t workers = request_.groups->stages_of_worker.size();
    if (given_.size() != workers) {
      GangPlan plan;
      plan.outcome = Outcome::kNever;
      plan.reasons.push_back(
          {ReasonCode::kInvalid, TopologyLevel::kFabric, 1,
           StrCat("the assignment has ", given_.size(), " ranks for ", workers, " workers")});
      return plan;
    }
    std::erase_if(lost, [&](int rank) {
      return rank < 0 || static_cast<std::size_t>(rank) >= given_.size();
    });
    for (std::size_t rank = 0; rank < given_.size(); ++rank) {
      if (!hosts_.IsKnown(given_[rank])) lost.push_back(static_cast<int>(rank));
    }
    for (int rank : lost) hosts_.Lose(rank);
    lost = hosts_.lost();
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

  // A host that is not there any more is replaced here by the one of another rank: its segment is
  // looked through first. False if no rank has a known host.
  bool FillUnknown() {
    for (int rank : hosts_.lost()) {
      if (hosts_.IsKnown(given_[rank])) continue;
      const std::optional<int> near = NearestKnown(rank);
      if (!near) return false;
      hosts_.Presume(rank, given_[*near]);
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
      if (!hosts_.IsKnown(given_[other])) continue;
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
      const bool gone = hosts_.IsGone(rank);
      const std::pair key{gone, gone ? model().host_sets.of[rank] : hosts_.of(rank).value};
      const auto [entry, is_new] = at.emplace(key, bundles.size());
      if (is_new) bundles.emplace_back();
      bundles[entry->second].push_back(rank);
    }
    return bundles;
  }

  // The parts a bundle may be cut into.
  std::vector<Ranks> PartsOf(const Ranks& bundle) {
    if (AnyRequiredInHost(request_.job->placement)) return SetsOf(model().host_sets, bundle);
    std::vector<Ranks> parts;
    for (int rank : bundle) parts.push_back({rank});
    return parts;
  }

  // A fabric pod holds its segments.
  bool borrows_in_segment() const {
    return policy_.borrow_in_segment || policy_.borrow_in_fabric_pod;
  }

  // In the domain of its host where there are some, else in the segment.
  bool PlaceNear(const Ranks& bundle) {
    const HostId host = hosts_.of(bundle[0]);
    return Place(bundle,
                 places_.has_domains() ? places_.hosts_of(places_.domain_of(host))
                                       : places_.hosts_of(places_.segment_of(host)),
                 true, borrows_in_segment());
  }

  // On one host if possible, else in parts; backup hosts before ordinary ones. All or nothing.
  bool Place(const Ranks& bundle, const HostRange& hosts, bool backup, bool ordinary) {
    for (const bool use_backup : {true, false}) {
      if (!(use_backup ? backup : ordinary)) continue;
      const HostId host = hosts_.Find(hosts, use_backup, bundle);
      if (!host.valid()) continue;
      hosts_.Give(bundle, host);
      return true;
    }
    const std::vector<Ranks> parts = PartsOf(bundle);
    if (parts.size() == 1) return false;
    for (const Ranks& part : parts) {
      HostId host;
      if (backup) host = hosts_.Find(hosts, true, part);
      if (!host.valid() && ordinary) host = hosts_.Find(hosts, false, part);
      if (!host.valid()) {
        hosts_.TakeBack(bundle);
        return false;
      }
      hosts_.Give(part, host);
    }
    return true;
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
    if (!hosts_.AllLost(all)) return false;
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
      if (hosts_.AllLost(group)) {
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
  SegmentId SegmentOfLost(const Ranks& bundle) const {
    return places_.segment_of(hosts_.old(bundle[0]));
  }

  // Moves each of these sets of lost ranks into one domain of the segment, the one with the best
  // objective. With `may_part` a set that no domain has room for, and that need not lie in one,
  // takes any hosts of the segment. Either all sets move or none.
  bool MoveTo(const std::vector<Ranks>& sets, SegmentId segment, bool backup,
              bool may_part = true) {
    const ReplacementHosts::Assignment before = hosts_.now();
    for (const Ranks& set : sets) hosts_.TakeBack(set);
    const bool ordinary = !backup || borrows_in_segment();
    for (const Ranks& set : sets) {
      if (PlaceInOneDomain(set, segment, backup, ordinary)) continue;
      const bool parts = may_part && model().domain_unit == 0 &&
                         std::all_of(set.begin(), set.end(), [&](int rank) {
                           return MembersOf(model().domain_sets, {rank}).size() == 1;
                         });
      if (parts && PlaceAll(set, places_.hosts_of(segment), backup, ordinary)) continue;
      hosts_.Restore(before);
      return false;
    }
    return true;
  }
  bool PlaceInOneDomain(const Ranks& set, SegmentId segment, bool backup, bool ordinary) {
    return PlaceBest(places_.domains_of(segment), [&](fabric::DomainId domain) {
      return UnitFits(set, domain) && PlaceAll(set, places_.hosts_of(domain), backup, ordinary);
    });
  }
  // Keeps what place(p) does for the place p that leaves the best objective; false: it fails for
  // all, and nothing has changed.
  template <typename Places, typename Place>
  bool PlaceBest(const Places& places, const Place& place) {
    const ReplacementHosts::Assignment before = hosts_.now();
    ReplacementHosts::Assignment best = before;
    std::optional<Objective> best_objective;
    for (const auto p : places) {
      hosts_.Restore(before);
      if (!place(p)) continue;
      const Objective objective = Evaluate(places_, *request_.groups, hosts_.now().host_of);
      if (best_objective && *best_objective <= objective) continue;
      best_objective = objective;
      best = hosts_.now();
    }
    hosts_.Restore(std::move(best));
    return best_objective.has_value();
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
    const std::vector<HostId>& host_of = hosts_.now().host_of;
    for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
      const bool moves = std::find(set.begin(), set.end(), static_cast<int>(rank)) != set.end();
      if (!moves && places_.domain_of(host_of[rank]) == domain) return false;
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
      const Ranks members = MembersOf(model().atoms, bundles[0]);
      if (!hosts_.AllLost(members) || !Move(members)) {
        left.insert(left.end(), bundles.begin(), bundles.end());
      }
    }
    return left;
  }

  // To the segment that leaves the best objective.
  bool Move(const Ranks& members) {
    const ReplacementHosts::Assignment before = hosts_.now();
    hosts_.TakeBack(members);
    const fabric::FabricPodId pod = places_.fabric_pod_of(hosts_.old(members[0]));
    const bool moved = PlaceBest(places_.segments_of(pod), [&](SegmentId segment) {
      const bool placed = places_.has_domains()
                              ? MoveTo(SetsOf(GroupSets(), members), segment, false)
                              : PlaceAll(members, places_.hosts_of(segment), false, true);
      return placed && StagesFit(segment);
    });
    if (!moved) hosts_.Restore(before);
    return moved;
  }

  static std::vector<Ranks> SetsOf(const Partition& partition, const Ranks& members) {
    std::map<int, Ranks> sets;
    for (int rank : members) sets[partition.of[static_cast<std::size_t>(rank)]].push_back(rank);
    std::vector<Ranks> out;
    for (auto& [set, ranks] : sets) out.push_back(std::move(ranks));
    return out;
  }

  bool StagesFit(SegmentId segment) const {
    const int limit = request_.job->placement.max_stages_per_segment;
    if (limit == 0) return true;
    std::set<int> stages;
    const std::vector<HostId>& host_of = hosts_.now().host_of;
    for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
      if (places_.segment_of(host_of[rank]) != segment) continue;
      const std::vector<int>& mine = request_.groups->stages_of_worker[rank];
      stages.insert(mine.begin(), mine.end());
    }
    return static_cast<int>(stages.size()) <= limit;
  }

  GangPlan Finish(const std::vector<Ranks>& waiting) {
    GangPlan plan;
    const std::vector<HostId>& host_of = hosts_.now().host_of;
    if (!hosts_.any_gone() && !std::all_of(host_of.begin(), host_of.end(),
                                           [&](HostId host) { return hosts_.IsKnown(host); })) {
      plan.reasons.push_back({ReasonCode::kInvalid, TopologyLevel::kFabric, 1,
                              "no rank of the gang has a host that is still there"});
      return plan;
    }
    if (waiting.empty()) {
      plan.outcome = Outcome::kPlaced;
      plan.objective = plan.bound = Evaluate(places_, *request_.groups, host_of);
      plan.optimal = false;
      plan.host_of_rank = host_of;
      return plan;
    }
    std::map<SegmentId, std::int64_t> missing;
    std::map<fabric::DomainId, std::int64_t> missing_in_domain;
    for (const Ranks& bundle : waiting) {
      const HostId host = hosts_.old(bundle[0]);
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
    return {StrCat("backup.", field, ": true"), again.Run(hosts_.lost()).outcome};
  }

  const Cluster& cluster_;
  const fabric::Places& places_;
  const GangRequest& request_;
  const fabric::BackupPolicy policy_;
  const std::vector<HostId> given_;  // by rank
  ReplacementHosts hosts_;
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
