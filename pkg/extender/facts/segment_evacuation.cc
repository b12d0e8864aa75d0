#include "pkg/extender/facts/segment_evacuation.h"

#include <algorithm>
#include <set>

#include "pkg/base/strings.h"

namespace yardmaster::extender {

std::optional<SegmentEvacuation> EvacuationOf(const plan::JobState& job,
                                              const GatheredGang& gathered,
                                              const plan::Snapshot& snapshot) {
  if (snapshot.lost_segments.empty() || !job.assignment) return std::nullopt;
  SegmentEvacuation evacuation;
  std::set<fabric::SegmentId> left;
  const std::vector<fabric::HostId>& hosts = job.assignment->host_of_rank;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (!hosts[rank].valid()) continue;
    const fabric::SegmentId segment = snapshot.places->segment_of(hosts[rank]);
    const auto& lost = snapshot.lost_segments;
    if (!std::binary_search(lost.begin(), lost.end(), segment)) continue;
    evacuation.ranks.push_back(static_cast<int>(rank));
    left.insert(segment);
  }
  if (evacuation.ranks.empty()) return std::nullopt;
  evacuation.segments.assign(left.begin(), left.end());
  std::set<int> gated;
  for (const GangMember& member : gathered.members) {
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

placement::Reason LostSegmentReason(const SegmentEvacuation& evacuation,
                                    const plan::Snapshot& snapshot) {
  const auto ranks = static_cast<std::int64_t>(evacuation.ranks.size());
  return {placement::ReasonCode::kHostsOut, workload::TopologyLevel::kSegment, ranks,
          StrCat(evacuation.segments.size() == 1 ? "segment " : "segments ",
                 NamesOf(evacuation.segments, *snapshot.places),
                 evacuation.segments.size() == 1 ? " is" : " are", " lost, and ",
                 Count(ranks, "rank"), ranks == 1 ? " leaves" : " leave together")};
}

}  // namespace yardmaster::extender
