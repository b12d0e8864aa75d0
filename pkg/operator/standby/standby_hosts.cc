#include "pkg/operator/standby/standby_hosts.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/placement/replacement.h"

namespace yardmaster::op {

namespace {

using fabric::HostId;

// Hosts of the job that are replaced alike.
struct Place {
  std::vector<int> lost;  // the ranks of the first of them
  int ranks = 0;          // of all
  std::string name;
  bool covered = false;
};

std::vector<Place> PlacesOf(const plan::Snapshot& snapshot, const std::vector<HostId>& hosts) {
  const fabric::Places& places = *snapshot.places;
  std::map<std::pair<fabric::SegmentId, fabric::DomainId>, Place> found;
  std::map<std::pair<fabric::SegmentId, fabric::DomainId>, HostId> first;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (!hosts[rank].valid()) continue;
    const fabric::SegmentId segment = places.segment_of(hosts[rank]);
    const fabric::DomainId domain =
        places.has_domains() ? places.domain_of(hosts[rank]) : fabric::DomainId();
    Place& place = found[{segment, domain}];
    const HostId host = first.try_emplace({segment, domain}, hosts[rank]).first->second;
    if (host == hosts[rank]) place.lost.push_back(static_cast<int>(rank));
    if (place.ranks++ == 0) place.name = places.name(segment);
  }
  std::vector<Place> out;
  out.reserve(found.size());
  for (auto& [key, place] : found) out.push_back(std::move(place));
  return out;
}

// Where replacements go, while hosts are taken one after the other.
class Replacements {
 public:
  Replacements(const plan::Snapshot& snapshot, plan::JobId id,
               const std::vector<std::string>& refused)
      : id_(id), job_(snapshot.jobs[id.index()]), cluster_(snapshot.cluster) {
    if (snapshot.network != nullptr) policy_ = snapshot.network->spec().backup;
    for (const std::string& name : refused) {
      const HostId host = snapshot.places->FindHost(name);
      if (host.valid()) Take(host);
    }
  }

  std::optional<HostId> HostFor(const Place& place) const {
    const placement::GangPlan plan = placement::ReplaceHosts(
        cluster_, plan::RequestOf(job_, id_), job_.assignment->host_of_rank, place.lost, policy_);
    if (plan.outcome != placement::Outcome::kPlaced) return std::nullopt;
    return plan.host_of_rank[static_cast<std::size_t>(place.lost.front())];
  }
  void Take(HostId host) {
    cluster_.hosts[host.index()].unavailable = placement::Unavailability::kTainted;
  }

 private:
  const plan::JobId id_;
  const plan::JobState& job_;
  placement::Cluster cluster_;
  fabric::BackupPolicy policy_;
};

// The host of most ranks among the places that are covered, or are not.
std::optional<HostId> Choose(const std::vector<Place>& places,
                             const std::vector<std::optional<HostId>>& hosts, bool covered) {
  std::map<HostId, int> ranks;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (hosts[i] && places[i].covered == covered) ranks[*hosts[i]] += places[i].ranks;
  }
  const auto most = std::max_element(
      ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == ranks.end()) return std::nullopt;
  return most->first;
}

}  // namespace

StandbyHosts FindStandbyHosts(const plan::Snapshot& snapshot, plan::JobId id,
                              const std::vector<std::string>& refused, int n) {
  StandbyHosts out;
  const plan::JobState& job = snapshot.jobs[id.index()];
  std::vector<Place> places = PlacesOf(snapshot, job.assignment->host_of_rank);
  Replacements replacements(snapshot, id, refused);
  while (static_cast<int>(out.hosts.size()) < n) {
    std::vector<std::optional<HostId>> hosts;
    for (const Place& place : places) hosts.push_back(replacements.HostFor(place));
    std::optional<HostId> chosen = Choose(places, hosts, false);
    if (!chosen) chosen = Choose(places, hosts, true);
    if (!chosen) break;
    for (std::size_t i = 0; i < places.size(); ++i) places[i].covered |= hosts[i] == chosen;
    out.hosts.push_back(snapshot.places->name(*chosen));
    replacements.Take(*chosen);
  }
  if (static_cast<int>(out.hosts.size()) < n) {
    const auto left = std::find_if(places.begin(), places.end(),
                                   [](const Place& place) { return !place.covered; });
    out.short_of = StrCat("no ", out.hosts.empty() ? "" : "other ",
                          "host is free that a replacement would use",
                          left == places.end() ? "" : StrCat(" in segment ", left->name));
  }
  return out;
}

}  // namespace yardmaster::op
