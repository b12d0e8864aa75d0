#include "pkg/extender/steps/pod_release.h"

#include <algorithm>
#include <exception>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/pin_patch.h"
#include "pkg/extender/facts/placed_first.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/gather/pods_to_come.h"
#include "pkg/state/release_rule.h"

namespace yardmaster::extender {

namespace {

constexpr std::int64_t kRecoveryMs = 30'000;

// The release of one pod, and its gang's place in the order.
struct Release {
  bool first_time;            // its gang has not been released in full yet
  std::int64_t committed_ms;  // its gang
  ReleasePod effect;
};

bool MayGoThere(const api::Pod& pod, bool backup) {
  const auto tolerates = [&](const char* key) {
    return api::Tolerates(pod.constraints.tolerations, {key, "", api::TaintEffect::kNoSchedule});
  };
  return tolerates(api::kPromisedKey) && (!backup || tolerates(api::kBackupKey));
}

// A pod that still has to be released, or that came without the gate and would be turned away.
bool NeedsPatch(const api::Pod& pod, bool backup) {
  if (pod.gated()) return true;
  return pod.node_name.empty() && !pod.metadata.deleted_ms && !MayGoThere(pod, backup);
}

// Whether a gang that has been released in full lacks a rank, or has one that is on no node.
bool LacksARank(const api::Gang& gang, const gather::GatheredGang& gathered) {
  if (!HoldsHosts(gang.status) || gathered.finished > 0) return false;  // it ends
  if (gathered.unbound == 0 && gather::IsComplete(gathered, gang.job.workers)) return false;
  return api::IsTrue(gang.status.conditions, api::kReleasedCondition);
}

// Of one gang.
void AddReleases(const PassFacts& facts, const api::Gang& gang,
                 const gather::GatheredGang& gathered, std::vector<Release>& releases) {
  const NamespacedName key = KeyOf(gang.metadata);
  const auto& slots = gang.status.assignments;
  const bool first_time = !api::IsTrue(gang.status.conditions, api::kReleasedCondition);
  for (const gather::GangMember& member : gathered.members) {
    if (!member.rank) continue;
    const placement::HostState* host =
        state::ReleaseHost(gang.status, *member.rank, *facts.snapshot);
    if (host == nullptr) continue;
    if (!NeedsPatch(*member.pod, host->backup) || member.pod->gated_by_others()) continue;
    if (gather::IsLeftToCore(*member.pod)) continue;
    const api::AssignmentEntry& slot = slots[static_cast<std::size_t>(*member.rank)];
    releases.push_back({first_time,
                        gang.status.committed_ms,
                        {key, member.pod, api::PinOf(*member.pod, key.name, slot, host->backup)}});
  }
}

// A gang that makes it throw is isolated, and the pods of the others are released.
std::vector<Release> ReleasesOf(const PassFacts& facts, std::vector<Effect>& effects) {
  std::vector<Release> releases;
  for (const auto& [key, gathered] : facts.gathered) {
    const auto gang = facts.gangs.find(key);
    if (gang == facts.gangs.end() || !HoldsHosts(gang->second->status)) continue;
    if (facts.IsStopping(key) || facts.indeterminate.count(key) != 0) continue;
    if (facts.IsLeftAlone(key)) continue;
    if (gathered->gated == 0 && gathered->unbound == 0) continue;
    // The others are still to be made, and may be refused.
    if (gather::IsOfSuspendedJob(*gang->second) && gather::PodsAreToCome(*gang->second) &&
        !gather::IsComplete(*gathered, gang->second->placed_workers())) {
      continue;
    }
    const std::size_t before = releases.size();
    try {
      AddReleases(facts, *gang->second, *gathered, releases);
    } catch (const std::exception& error) {
      releases.erase(releases.begin() + static_cast<std::ptrdiff_t>(before), releases.end());
      effects.push_back(IsolateGang{key, "releasing its pods", error.what()});
    }
  }
  std::stable_sort(releases.begin(), releases.end(), [](const Release& a, const Release& b) {
    return std::tie(a.first_time, a.committed_ms, a.effect.gang) <
           std::tie(b.first_time, b.committed_ms, b.effect.gang);
  });
  return releases;
}

}  // namespace

bool PodRelease::SomeGangRecovers(const PassFacts& facts) {
  const std::int64_t now_ms = facts.now.steady_ms;
  std::map<NamespacedName, std::int64_t> before;
  before.swap(recovering_since_ms_);
  bool some = false;
  for (const auto& [key, gathered] : facts.gathered) {
    const auto gang = facts.gangs.find(key);
    if (gang == facts.gangs.end() || !LacksARank(*gang->second, *gathered)) continue;
    const auto known = before.find(key);
    const std::int64_t since_ms = known == before.end() ? now_ms : known->second;
    recovering_since_ms_.emplace(key, since_ms);
    some |= now_ms - since_ms < kRecoveryMs;
  }
  return some;
}

Decision PodRelease::Decide(const PassFacts& facts) {
  Decision decision;
  decision.threads = SomeGangRecovers(facts) ? (options_.threads + 3) / 4
                                             : std::max<std::size_t>(1, options_.threads);
  std::vector<Release> releases = ReleasesOf(facts, decision.effects);
  NetworkWait::PodsOfGangs gated;
  for (const Release& release : releases) {
    const gather::PodPtr& pod = release.effect.pod;
    if (pod->gated()) gated[release.effect.gang].push_back(pod);
  }
  const std::set<NamespacedName> held = network_wait_.Held(facts, gated, decision.effects);
  for (Release& release : releases) {
    if (held.count(release.effect.gang) != 0) continue;
    decision.effects.push_back(std::move(release.effect));
  }
  return decision;
}

std::vector<Work> PodRelease::MarkReleased(const PassFacts& facts) {
  std::vector<Work> works;
  for (const auto& [key, gang] : facts.gangs) {
    if (!HoldsHosts(gang->status)) continue;
    if (api::IsTrue(gang->status.conditions, api::kReleasedCondition)) continue;
    const gather::GatheredGang* gathered = facts.GatheredOf(key);
    if (gathered == nullptr || gathered->members.empty() || gathered->gated > 0) continue;
    // Those that are there were made with their hosts, and the others are still to come.
    if (gather::PodsAreToCome(*gang) && !gather::IsComplete(*gathered, gang->placed_workers()))
      continue;
    works.push_back({key, [key = key, gang = gang](const PassFacts& now) {
                       api::GangStatus status = gang->status;
                       status.observed_generation = gang->metadata.generation;
                       SetCondition(status, *gang, api::kReleasedCondition, true, "PodsReleased",
                                    "every pod was pinned to its host and released",
                                    now.now.wall_ms);
                       return Decision{{CommitGangStatus{key, gang, std::move(status)}}};
                     }});
  }
  return works;
}

}  // namespace yardmaster::extender
