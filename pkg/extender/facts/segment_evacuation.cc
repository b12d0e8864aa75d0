#include "pkg/extender/facts/segment_evacuation.h"

#include <algorithm>
#include <set>

#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

template <typename IdType>
bool Contains(const std::vector<IdType>& ascending, IdType id) {
  return std::binary_search(ascending.begin(), ascending.end(), id);
}

std::string Counted(std::string_view kind, std::size_t count, const std::string& names) {
  return count == 0 ? std::string() : StrCat(kind, count == 1 ? " " : "s ", names);
}

}  // namespace

std::optional<SegmentEvacuation> EvacuationOf(const plan::JobState& job,
                                              const gather::GatheredGang& gathered,
                                              const plan::Snapshot& snapshot) {
  if (snapshot.lost_segments.empty() && snapshot.lost_domains.empty()) return std::nullopt;
  if (!job.assignment) return std::nullopt;
  SegmentEvacuation evacuation;
  std::set<fabric::SegmentId> segments;
  std::set<fabric::DomainId> domains;
  const std::vector<fabric::HostId>& hosts = job.assignment->host_of_rank;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (!hosts[rank].valid()) continue;
    const fabric::SegmentId segment = snapshot.places->segment_of(hosts[rank]);
    const fabric::DomainId domain = snapshot.places->domain_of(hosts[rank]);
    if (Contains(snapshot.lost_segments, segment)) {
      segments.insert(segment);
    } else if (Contains(snapshot.lost_domains, domain)) {
      domains.insert(domain);
    } else {
      continue;
    }
    evacuation.ranks.push_back(static_cast<int>(rank));
  }
  if (evacuation.ranks.empty()) return std::nullopt;
  evacuation.segments.assign(segments.begin(), segments.end());
  evacuation.domains.assign(domains.begin(), domains.end());
  std::set<int> gated;
  for (const gather::GangMember& member : gathered.members) {
    if (member.rank && member.pod->gated()) gated.insert(*member.rank);
  }
  evacuation.may_go = std::all_of(evacuation.ranks.begin(), evacuation.ranks.end(),
                                  [&](int rank) { return gated.count(rank) != 0; });
  return evacuation;
}

std::string NamesOf(const std::vector<fabric::SegmentId>& segments, const fabric::Places& places) {
  std::vector<std::string> names;
  for (const fabric::SegmentId segment : segments) {
    names.push_back(StrCat(places.name(places.fabric_pod_of(segment)), "/", places.name(segment)));
  }
  return Join(names, ", ");
}

std::string NamesOf(const std::vector<fabric::DomainId>& domains, const fabric::Places& places) {
  std::vector<std::string> names;
  for (const fabric::DomainId domain : domains) {
    const fabric::SegmentId segment = places.segment_of(domain);
    names.push_back(StrCat(places.name(places.fabric_pod_of(segment)), "/", places.name(segment),
                           "/", places.name(domain)));
  }
  return Join(names, ", ");
}

std::string LostPlacesOf(const SegmentEvacuation& evacuation, const fabric::Places& places) {
  const std::string segments =
      Counted("segment", evacuation.segments.size(), NamesOf(evacuation.segments, places));
  const std::string domains =
      Counted("domain", evacuation.domains.size(), NamesOf(evacuation.domains, places));
  return StrCat(segments, segments.empty() || domains.empty() ? "" : " and ", domains);
}

placement::Reason LostPlaceReason(const SegmentEvacuation& evacuation,
                                  const plan::Snapshot& snapshot) {
  const auto ranks = static_cast<std::int64_t>(evacuation.ranks.size());
  const bool one = evacuation.segments.size() + evacuation.domains.size() == 1;
  return {placement::ReasonCode::kHostsOut,
          evacuation.segments.empty() ? workload::TopologyLevel::kDomain
                                      : workload::TopologyLevel::kSegment,
          ranks,
          StrCat(LostPlacesOf(evacuation, *snapshot.places), one ? " is" : " are", " lost, and ",
                 Count(ranks, "rank"), ranks == 1 ? " leaves" : " leave together")};
}

}  // namespace yardmaster::extender
