#include "pkg/extender/facts/eligible_hosts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/refusals.h"
#include "pkg/base/strings.h"
#include "pkg/placement/replacement.h"

namespace yardmaster::extender {

namespace {

std::vector<std::string> AvoidedBy(const api::Pod& pod) {
  const auto text = api::Find(pod.metadata.annotations, api::kAvoidHostsAnnotation);
  return text && !text->empty() ? Split(*text, ',') : std::vector<std::string>();
}

// `eligible` less these hosts; null: it has none of them.
std::shared_ptr<const placement::HostSet> Without(
    const std::vector<std::string>& names, const plan::Snapshot& snapshot,
    const std::shared_ptr<const placement::HostSet>& eligible) {
  const bool limited = eligible != nullptr && !eligible->empty();
  std::shared_ptr<placement::HostSet> out;
  for (const std::string& name : names) {
    const fabric::HostId host = snapshot.places->FindHost(name);
    if (!host.valid() || (limited && (*eligible)[host.index()] == 0)) continue;
    if (out == nullptr) {
      out = limited ? std::make_shared<placement::HostSet>(*eligible)
                    : std::make_shared<placement::HostSet>(snapshot.cluster.hosts.size(), 1);
    }
    (*out)[host.index()] = 0;
  }
  return out;
}

// Ranks of a placed job whose pod waits behind the gate and for whose slot's host `applies`.
template <typename Applies>
std::vector<int> GatedRanks(const plan::JobState& job, const gather::GatheredGang& gathered,
                            const Applies& applies) {
  std::vector<int> ranks;
  if (gathered.gated == 0) return ranks;
  const std::vector<fabric::HostId>& hosts = job.assignment->host_of_rank;
  for (const gather::GangMember& member : gathered.members) {
    if (!member.rank || !member.pod->gated()) continue;
    if (*member.rank < 0 || static_cast<std::size_t>(*member.rank) >= hosts.size()) continue;
    if (applies(member, hosts[static_cast<std::size_t>(*member.rank)])) {
      ranks.push_back(*member.rank);
    }
  }
  return ranks;
}

}  // namespace

bool Avoids(const api::Pod& pod, const std::string& host) {
  const std::vector<std::string> hosts = AvoidedBy(pod);
  return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

std::shared_ptr<const std::vector<std::uint8_t>> EligibleNow(const plan::Snapshot& snapshot,
                                                             const plan::JobState& job,
                                                             const gather::GatheredGang* gathered,
                                                             const api::GangStatus& status,
                                                             std::vector<std::string> avoided) {
  std::vector<std::string> names = RefusedHosts(status, snapshot.now_ms);
  std::move(avoided.begin(), avoided.end(), std::back_inserter(names));
  for (std::size_t m = 0; gathered != nullptr && m < gathered->members.size(); ++m) {
    for (std::string& host : AvoidedBy(*gathered->members[m].pod)) {
      names.push_back(std::move(host));
    }
  }
  const auto left = Without(names, snapshot, job.eligible);
  return left == nullptr ? job.eligible : left;
}

std::shared_ptr<const placement::HostSet> UntriedHosts(const plan::Snapshot& snapshot,
                                                       const plan::JobState& job,
                                                       const api::GangStatus& status) {
  return Without(TriedHosts(status, snapshot.now_ms), snapshot, job.eligible);
}

placement::GangPlan ReplaceUntriedFirst(const plan::Snapshot& snapshot, plan::JobId id,
                                        const plan::JobState& job, const api::GangStatus& status,
                                        const std::vector<int>& ranks) {
  const fabric::BackupPolicy policy =
      snapshot.network ? snapshot.network->spec().backup : fabric::BackupPolicy{};
  placement::GangRequest request = plan::RequestOf(job, id);
  const auto replace = [&] {
    return placement::ReplaceHosts(snapshot.cluster, request, job.assignment->host_of_rank, ranks,
                                   policy);
  };
  const auto untried = UntriedHosts(snapshot, job, status);
  if (untried == nullptr) return replace();
  request.eligible = untried.get();
  placement::GangPlan plan = replace();
  if (plan.outcome == placement::Outcome::kPlaced) return plan;
  request.eligible = job.eligible.get();
  return replace();
}

std::vector<int> RanksOnTriedHosts(const plan::Snapshot& snapshot, const plan::JobState& job,
                                   const gather::GatheredGang& gathered,
                                   const api::GangStatus& status) {
  if (status.refusals.empty()) return {};
  return GatedRanks(job, gathered, [&](const gather::GangMember& member, fabric::HostId host) {
    return host.valid() &&
           WasRefused(status, *member.rank, snapshot.places->name(host), snapshot.now_ms);
  });
}

std::vector<int> RanksToMove(const plan::Snapshot& snapshot, const plan::JobState& job,
                             const gather::GatheredGang& gathered, const api::GangStatus& status) {
  return GatedRanks(job, gathered, [&](const gather::GangMember& member, fabric::HostId host) {
    return !host.valid() ||
           snapshot.cluster.hosts[host.index()].unavailable != placement::Unavailability::kNo ||
           Avoids(*member.pod, snapshot.places->name(host)) ||
           IsRefused(status, *member.rank, snapshot.places->name(host), snapshot.now_ms);
  });
}

}  // namespace yardmaster::extender
