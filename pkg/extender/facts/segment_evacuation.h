// Ranks that leave a segment or a domain which the Fabric's status calls lost (api/fabric.h). The
// ranks of a gang there move together, by one plan and one write (placement/partial_planner.h).
// They move once the pod of each of them waits behind the gate and there is a place for all of
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
  std::vector<fabric::SegmentId> segments;  // lost ones with ranks of the gang, ascending
  std::vector<fabric::DomainId> domains;    // likewise, in segments that are not lost
  std::vector<int> ranks;                   // there, ascending
  bool may_go = false;                      // every one of them has a pod behind the gate
};

// nullopt when no rank of the placed job is in a lost segment or domain. O(1) while none is lost.
std::optional<SegmentEvacuation> EvacuationOf(const plan::JobState& job,
                                              const gather::GatheredGang& gathered,
                                              const plan::Snapshot& snapshot);

// "segment p0/s3 is lost, and 4 ranks leave together": what comes first among the reasons of ranks
// that cannot leave.
placement::Reason LostPlaceReason(const SegmentEvacuation& evacuation,
                                  const plan::Snapshot& snapshot);
// "segment p0/s3", "segments p0/s3, p0/s5", "domain p0/s1/d2", or both.
std::string LostPlacesOf(const SegmentEvacuation& evacuation, const fabric::Places& places);
// "p0/s3" or "p0/s3, p0/s5"; "p0/s1/d2".
std::string NamesOf(const std::vector<fabric::SegmentId>& segments, const fabric::Places& places);
std::string NamesOf(const std::vector<fabric::DomainId>& domains, const fabric::Places& places);

}  // namespace yardmaster::extender
