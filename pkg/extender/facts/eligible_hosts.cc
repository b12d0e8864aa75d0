#include "pkg/extender/facts/eligible_hosts.h"

#include <algorithm>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/refusals.h"

namespace yardmaster::extender {

namespace {

std::vector<std::string> AvoidedBy(const api::Pod& pod) {
  const auto text = api::Find(pod.metadata.annotations, api::kAvoidHostsAnnotation);
  return text && !text->empty() ? Split(*text, ',') : std::vector<std::string>();
}

}  // namespace

bool Avoids(const api::Pod& pod, const std::string& host) {
  const std::vector<std::string> hosts = AvoidedBy(pod);
  return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

std::shared_ptr<const std::vector<std::uint8_t>> EligibleNow(const plan::Snapshot& snapshot,
                                                             const plan::JobState& job,
                                                             const GatheredGang* gathered,
                                                             const api::GangStatus& status) {
  std::shared_ptr<std::vector<std::uint8_t>> out;
  const auto leave_out = [&](const std::string& name) {
    const fabric::HostId host = snapshot.places->FindHost(name);
    if (!host.valid()) return;
    if (out == nullptr) {
      const bool limited = job.eligible != nullptr && !job.eligible->empty();
      out = limited ? std::make_shared<std::vector<std::uint8_t>>(*job.eligible)
                    : std::make_shared<std::vector<std::uint8_t>>(snapshot.cluster.hosts.size(), 1);
    }
    (*out)[host.index()] = 0;
  };
  for (const std::string& host : RefusedHosts(status, snapshot.now_ms)) leave_out(host);
  for (std::size_t m = 0; gathered != nullptr && m < gathered->members.size(); ++m) {
    for (const std::string& host : AvoidedBy(*gathered->members[m].pod)) leave_out(host);
  }
  if (out == nullptr) return job.eligible;
  return out;
}

std::vector<int> RanksToMove(const plan::Snapshot& snapshot, const plan::JobState& job,
                             const GatheredGang& gathered, const api::GangStatus& status) {
  std::vector<int> ranks;
  if (gathered.gated == 0) return ranks;
  const std::vector<fabric::HostId>& hosts = job.assignment->host_of_rank;
  for (const GangMember& member : gathered.members) {
    if (!member.rank || !member.pod->gated()) continue;
    if (*member.rank < 0 || static_cast<std::size_t>(*member.rank) >= hosts.size()) continue;
    const fabric::HostId host = hosts[static_cast<std::size_t>(*member.rank)];
    if (!host.valid() ||
        snapshot.cluster.hosts[host.index()].unavailable != placement::Unavailability::kNo ||
        Avoids(*member.pod, snapshot.places->name(host)) ||
        IsRefused(status, *member.rank, snapshot.places->name(host), snapshot.now_ms)) {
      ranks.push_back(*member.rank);
    }
  }
  return ranks;
}

}  // namespace yardmaster::extender
