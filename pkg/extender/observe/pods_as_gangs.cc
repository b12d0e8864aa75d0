#include "pkg/extender/observe/pods_as_gangs.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/strings.h"
#include "pkg/extender/steps/adoption.h"
#include "pkg/state/node_facts.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::extender {

namespace {

// The gang that the labels of the pod name.
std::optional<NamespacedName> GangOf(const api::Pod& pod) {
  const auto membership = api::ResolveMembership(pod);
  if (!membership.ok() || !*membership) return std::nullopt;
  return NamespacedName{pod.metadata.namespace_name, (*membership)->gang_name};
}

bool MayBeGuessed(const api::Pod& pod) {
  return pod.gpus() > 0 && !pod.finished() && !pod.metadata.deleted_ms && !api::WantsGang(pod) &&
         pod.problems.empty();
}

gather::PodPtr WithParallelism(const api::Pod& pod, std::int64_t gpus) {
  auto out = std::make_shared<api::Pod>(pod);
  out->metadata.annotations[api::kParallelismAnnotation] = StrCat("dp=", gpus);
  return out;
}

// Of pods that do not say how many they are.
absl::StatusOr<std::optional<api::Gang>> GangOfPods(const gather::GatheredGang& pods) {
  auto gang = gather::MakeGang(pods, nullptr);
  if (gang.ok() || pods.members.empty() || pods.held_by_others > 0) return gang;
  gather::DeclaredSizes declared;
  declared.of_owner = static_cast<int>(pods.members.size());
  return gather::MakeGang(pods, nullptr, declared);
}

}  // namespace

std::set<NamespacedName> GuessParallelism(std::size_t min_pods, std::vector<gather::PodPtr>& pods) {
  struct Set {
    std::vector<std::size_t> pods;
    std::int64_t gpus = 0;
  };
  std::map<NamespacedName, Set> sets;
  std::set<NamespacedName> said;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const api::Pod& pod = *pods[i];
    const bool wants = api::WantsGang(pod);
    if (!wants && !MayBeGuessed(pod)) continue;
    auto gang = GangOf(pod);
    if (!gang) continue;
    if (wants) {
      said.insert(*std::move(gang));
      continue;
    }
    Set& set = sets[*std::move(gang)];
    set.pods.push_back(i);
    set.gpus += pod.gpus();
  }
  std::set<NamespacedName> guessed;
  for (const auto& [gang, set] : sets) {
    if (set.pods.size() < min_pods || said.count(gang) != 0) continue;
    for (const std::size_t i : set.pods) pods[i] = WithParallelism(*pods[i], set.gpus);
    guessed.insert(gang);
  }
  return guessed;
}

std::vector<std::string> HostsOfPods(const gather::GatheredGang& pods, const api::Gang& gang,
                                     const state::ClusterState& cluster) {
  if (!pods.ended.empty()) return {};  // nothing says any more where those ranks ran
  gather::GatheredGang ranked = pods;
  gather::AssignRanks(gang.rank_bases, gang.job.workers, ranked);
  std::vector<std::string> hosts;
  for (const gather::GangMember& member : ranked.members) hosts.push_back(member.pod->node_name);
  if (std::count(hosts.begin(), hosts.end(), "") > 0) {
    hosts = HostsChosenByOthers(ranked, gang.job.workers, {}, cluster.nodes)
                .value_or(std::vector<std::string>());
  }
  const auto fabric = state::UsedFabric(cluster.fabrics);
  const fabric::FabricSpec spec = fabric == nullptr ? fabric::FabricSpec{} : fabric->spec;
  const bool known = std::all_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
    const auto node = cluster.nodes.Find({"", host});
    return node != nullptr && state::PlaceOf(*node, spec).place.has_value();
  });
  return known ? hosts : std::vector<std::string>();
}

void PlaceOnHosts(const std::vector<std::string>& hosts, api::Gang& gang) {
  gang.status.plan_generation = hosts.empty() ? 0 : 1;
  gang.status.assignments.clear();
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    gang.status.assignments.push_back({static_cast<int>(rank), hosts[rank], "", "", {}});
  }
}

PodsAsGangs WithGangsOfPods(const state::ClusterState& cluster) {
  PodsAsGangs out;
  out.cluster = cluster;
  std::vector<gather::PodPtr> pods(cluster.pods.begin(), cluster.pods.end());
  constexpr std::size_t kGang = 2;  // a lone pod is an ordinary one
  out.guessed = GuessParallelism(kGang, pods);
  if (!out.guessed.empty()) out.cluster.pods = state::ObjectTable<api::Pod>::Of(std::move(pods));
  for (const gather::GatheredGang& gathered : gather::Gather(out.cluster.pods).gangs) {
    const NamespacedName key{gathered.namespace_name, gathered.name};
    for (const gather::GangMember& member : gathered.members) {
      out.pods_of[key].push_back(KeyOf(member.pod->metadata));
    }
    if (out.cluster.gangs.Find(key) != nullptr) continue;
    auto gang = GangOfPods(gathered);
    if (!gang.ok() || !*gang) continue;
    for (const gather::GangMember& member : gathered.members) {
      (*gang)->metadata.created_ms =
          std::max((*gang)->metadata.created_ms, member.pod->metadata.created_ms);
    }
    const std::vector<std::string> hosts = HostsOfPods(gathered, **gang, out.cluster);
    // It runs in part, or where no place is known: there is nothing to compare or to plan.
    if (!gathered.ended.empty() || (hosts.empty() && gathered.unbound == 0)) continue;
    PlaceOnHosts(hosts, **gang);
    out.cluster.gangs.Put(std::make_shared<const api::Gang>(**std::move(gang)));
  }
  return out;
}

}  // namespace yardmaster::extender
