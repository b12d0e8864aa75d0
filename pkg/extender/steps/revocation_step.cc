#include "pkg/extender/steps/revocation_step.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/ledger/plan_commit.h"

namespace yardmaster::extender {

namespace {

// Lower comes first in keeping its hosts.
using Standing = std::tuple<int, int, std::int64_t, NamespacedName>;

Standing StandingOf(const PassState& pass, const api::Gang& gang) {
  const NamespacedName key = KeyOf(gang.metadata);
  const GatheredGang* gathered = pass.GatheredOf(key);
  int progress = 2;  // every pod waits behind the gate, or there is none
  if (gathered != nullptr && gathered->gated < static_cast<int>(gathered->members.size())) {
    progress = AnyBound(*gathered) ? 0 : 1;
  }
  return {progress, -gang.job.priority, gang.status.committed_ms, key};
}

bool HasStarted(const Standing& standing) { return std::get<0>(standing) == 0; }

// Of the hosts of which more GPUs are promised than they have: what each gang was promised. Hosts
// that are out or have no GPU at present are left alone.
std::map<fabric::HostId, std::map<Standing, std::int64_t>> OvercommittedHosts(
    const PassState& pass) {
  const std::vector<placement::HostState>& hosts = pass.snapshot->cluster.hosts;
  const std::vector<std::int64_t> promised = PromisedGpus(*pass.snapshot);
  std::vector<bool> too_many(hosts.size(), false);
  bool any = false;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    too_many[h] = promised[h] > hosts[h].gpus && hosts[h].gpus > 0 &&
                  hosts[h].unavailable == placement::Unavailability::kNo;
    any |= too_many[h];
  }
  std::map<fabric::HostId, std::map<Standing, std::int64_t>> promises;
  if (!any) return promises;
  for (const plan::JobId id : pass.snapshot->job_ids()) {
    const plan::JobState& job = pass.snapshot->jobs[id.index()];
    if (!job.assignment) continue;
    const Standing standing = StandingOf(pass, pass.GangOf(id));
    int rank = 0;
    for (fabric::HostId host : job.assignment->host_of_rank) {
      const int gpus = job.job.HostGpusOf(rank++);
      if (!host.valid() || !too_many[host.index()] || gpus == 0) continue;
      promises[host][standing] += gpus;
    }
  }
  return promises;
}

}  // namespace

std::vector<DoublePromise> FindDoublePromises(const PassState& pass) {
  std::vector<DoublePromise> found;
  std::set<NamespacedName> losing;
  for (const auto& [host, gangs] : OvercommittedHosts(pass)) {
    const placement::HostState& state = pass.snapshot->cluster.hosts[host.index()];
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
      found.push_back({pass.snapshot->places->name(host), *keeps, key, !HasStarted(standing)});
      losing.insert(key);
    }
  }
  return found;
}

bool RevocationStep::Run(PassState& pass) {
  bool changed = false;
  for (const DoublePromise& found : FindDoublePromises(pass)) {
    if (found.may_lose) {
      pass.handling = found.loses;
      changed |= Revoke(pass, found);
      continue;
    }
    pass.report.problems.push_back(
        StrCat("host ", found.host, " is promised to Gang ", found.keeps.namespace_name, "/",
               found.keeps.name, " and to Gang ", found.loses.namespace_name, "/", found.loses.name,
               ", and both have running pods; delete the pods of one of them"));
  }
  pass.handling.reset();
  return changed;
}

bool RevocationStep::Revoke(PassState& pass, const DoublePromise& found) {
  pass.stopping.insert(found.loses);
  const std::vector<PodPtr> released = Evictable(pass.GatheredOf(found.loses));
  if (!released.empty()) {
    const std::string refused = preemption_.Evict(pass, released);
    if (!refused.empty()) pass.report.errors.push_back(refused);
    return false;  // the promise is taken back once they are gone
  }
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(found.loses);
  const std::string why =
      StrCat("host ", found.host, " was promised to Gang ", found.keeps.namespace_name, "/",
             found.keeps.name, ", too; the gang gave its hosts back and waits for a place again");
  const api::GangStatus status = GivenBack(*gang, "PromiseRevoked", why, clock_.WallMs());
  if (!ledger_.Write(pass, *gang, status)) return false;
  ++pass.report.revoked;
  notify_({gang->owner, gang->metadata.namespace_name, true, "PromiseRevoked", why});
  return true;
}

}  // namespace yardmaster::extender
