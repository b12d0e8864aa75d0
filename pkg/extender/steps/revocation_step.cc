#include "pkg/extender/steps/revocation_step.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/extender/facts/planning_snapshot.h"
#include "pkg/extender/ledger/gang_status.h"

namespace yardmaster::extender {

namespace {

// Lower comes first in keeping its hosts.
using Standing = std::tuple<int, int, std::int64_t, NamespacedName>;

Standing StandingOf(const PassFacts& facts, const api::Gang& gang) {
  const NamespacedName key = KeyOf(gang.metadata);
  const gather::GatheredGang* gathered = facts.GatheredOf(key);
  int progress = 2;  // every pod waits behind the gate, or there is none
  if (gathered != nullptr && gathered->gated < static_cast<int>(gathered->members.size())) {
    progress = gather::AnyBound(*gathered) ? 0 : 1;
  }
  return {progress, -gang.job.priority, gang.status.committed_ms, key};
}

bool HasStarted(const Standing& standing) { return std::get<0>(standing) == 0; }

// Of the hosts of which more GPUs are promised than they have: what each gang was promised. Hosts
// that are out or have no GPU at present are left alone.
std::map<fabric::HostId, std::map<Standing, std::int64_t>> OvercommittedHosts(
    const PassFacts& facts) {
  const std::vector<placement::HostState>& hosts = facts.snapshot->cluster.hosts;
  const std::vector<std::int64_t> promised = PromisedGpus(*facts.snapshot);
  std::vector<bool> too_many(hosts.size(), false);
  bool any = false;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    too_many[h] = promised[h] > hosts[h].gpus && hosts[h].gpus > 0 &&
                  hosts[h].unavailable == placement::Unavailability::kNo;
    any |= too_many[h];
  }
  std::map<fabric::HostId, std::map<Standing, std::int64_t>> promises;
  if (!any) return promises;
  for (const plan::JobId id : facts.snapshot->job_ids()) {
    const plan::JobState& job = facts.snapshot->jobs[id.index()];
    if (!job.assignment) continue;
    const Standing standing = StandingOf(facts, *facts.GangOf(id));
    int rank = 0;
    for (fabric::HostId host : job.assignment->host_of_rank) {
      const int gpus = job.job.HostGpusOf(rank++);
      if (!host.valid() || !too_many[host.index()] || gpus == 0) continue;
      promises[host][standing] += gpus;
    }
  }
  return promises;
}

Decision Revoke(const PassFacts& facts, const DoublePromise& found) {
  Decision decision;
  decision.threads = 1;
  decision.effects.push_back(Change(GangMarked{found.loses, GangMark::kStopping}));
  for (gather::PodPtr& pod : gather::Evictable(facts.GatheredOf(found.loses))) {
    decision.effects.push_back(EvictPod{EvictionsOf(found.loses), std::move(pod)});
  }
  if (decision.effects.size() > 1) return decision;  // taken back once they are gone
  decision.then = [found](const PassFacts& now, const EffectOutcomes&) -> Decision {
    const std::shared_ptr<const api::Gang> gang = now.gangs.at(found.loses);
    const std::string why =
        StrCat("host ", found.host, " was promised to Gang ", found.keeps.text(),
               ", too; the gang gave its hosts back and waits for a place again");
    api::GangStatus status = GivenBack(*gang, "PromiseRevoked", why, now.now.wall_ms);
    Expedite(status, *gang, "PromiseRevoked", now.now.wall_ms);
    return {{CommitGangStatus{found.loses, gang, std::move(status)},
             Increment{&PassReport::revoked},
             Event{gang->owner, found.loses.namespace_name, true, "PromiseRevoked", why}}};
  };
  return decision;
}

}  // namespace

std::vector<DoublePromise> FindDoublePromises(const PassFacts& facts) {
  std::vector<DoublePromise> found;
  std::set<NamespacedName> losing;
  for (const auto& [host, gangs] : OvercommittedHosts(facts)) {
    const placement::HostState& state = facts.snapshot->cluster.hosts[host.index()];
    if (gangs.size() < 2) continue;
    std::int64_t promised = 0;
    const NamespacedName* keeps = nullptr;
    for (const auto& [standing, gpus] : gangs) {
      const NamespacedName& key = std::get<3>(standing);
      if (losing.count(key) != 0) continue;
      if (keeps == nullptr || promised + gpus <= state.gpus) {
        if (keeps == nullptr) keeps = &key;
        promised += gpus;
        continue;
      }
      found.push_back({facts.snapshot->places->name(host), *keeps, key, !HasStarted(standing)});
      losing.insert(key);
    }
  }
  return found;
}

std::vector<Work> RevokeDoublePromises(const PassFacts& facts) {
  std::vector<Work> works;
  for (const DoublePromise& found : FindDoublePromises(facts)) {
    if (found.may_lose) {
      works.push_back({found.loses, [found](const PassFacts& now) { return Revoke(now, found); }});
      continue;
    }
    ReportProblem problem{StrCat("host ", found.host, " is promised to Gang ", found.keeps.text(),
                                 " and to Gang ", found.loses.text(),
                                 ", and both have running pods; delete the pods of one of them")};
    works.push_back({{}, [problem](const PassFacts&) { return Decision{{problem}}; }});
  }
  return works;
}

}  // namespace yardmaster::extender
