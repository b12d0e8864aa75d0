// Finds the ranks of a gang that leave a segment or domain that the Fabric's status reports as lost
// (api/fabric.h). These ranks move together, by one plan and one write
// (placement/partial_planner.h), once each of them has a gated pod and a place exists for all of
// them.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/gather/gather.h"
#include "pkg/placement/outcome.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::extender {

struct SegmentEvacuation {
  std::vector<fabric::SegmentId> segments;  // lost segments with ranks of the gang, ascending
  std::vector<fabric::DomainId>
      domains;  // lost domains with ranks of the gang, in segments that are not lost, ascending
  std::vector<int> ranks;  // the ranks in these places, ascending
  bool may_go = false;     // each of these ranks has a gated pod
};

// nullopt if no rank of the placed job is in a lost segment or domain. O(1) while none is lost.
std::optional<SegmentEvacuation> EvacuationOf(const plan::JobState& job,
                                              const gather::GatheredGang& gathered,
                                              const plan::Snapshot& snapshot);

// For example "segment p0/s3 is lost, and 4 ranks leave together". It stands first among the
// reasons of ranks that cannot leave.
placement::Reason LostPlaceReason(const SegmentEvacuation& evacuation,
                                  const plan::Snapshot& snapshot);
// For example "segment p0/s3", "segments p0/s3, p0/s5", "domain p0/s1/d2", or both kinds.
std::string LostPlacesOf(const SegmentEvacuation& evacuation, const fabric::Places& places);
// For example "p0/s3, p0/s5" for segments and "p0/s1/d2" for a domain.
std::string NamesOf(const std::vector<fabric::SegmentId>& segments, const fabric::Places& places);
std::string NamesOf(const std::vector<fabric::DomainId>& domains, const fabric::Places& places);

}  // namespace yardmaster::extender
