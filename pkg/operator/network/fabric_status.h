// What a Fabric's status says: how many places and hosts its Nodes make, whether it can be planned
// on, and what state its links, cables and hashes are in. Pure. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/api/fabric.h"
#include "pkg/operator/hosts/segment_loss.h"
#include "pkg/operator/telemetry/lossy_cables.h"
#include "pkg/operator/telemetry/network_evidence.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

inline constexpr char kDevicesCountedCondition[] = "DevicesCounted";
inline constexpr char kDomainsConsistentCondition[] = "DomainsConsistent";

// `used`: this is the Fabric that `snapshot` was made with (one cluster plans on one Fabric).
// Condition DevicesCounted is False while devices by claims cannot be counted exactly, and not set
// where they always could. Condition Ready is False when another Fabric is used, and when the spec
// does not add up or its Nodes need more ports than it has; in the last two cases the message is
// the warning of `snapshot`. Condition DomainsConsistent is False while labels of domains
// contradict the Fabric or each other, and not set where they never did.
api::FabricStatus StatusOf(const api::Fabric& fabric, const plan::Snapshot& snapshot, bool used,
                           std::int64_t now_ms);

// Condition types of the network's state.
inline constexpr char kLinksUpCondition[] = "LinksUp";
inline constexpr char kWiringVerifiedCondition[] = "WiringVerified";
inline constexpr char kPathsTrustedCondition[] = "PathsTrusted";
inline constexpr char kPathsPlannedCondition[] = "PathsPlanned";
inline constexpr char kLinksCleanCondition[] = "LinksClean";

struct NetworkHealth {
  std::vector<std::string> down;  // names of cables reported down, in order
  int held = 0;                   // cables that are up and held back
  int distrusted = 0;             // NIC ports reported down, too many to be believed
  std::string links_problem;      // what is wrong with the down-links annotation
  LossyCables lossy;
  Evidence evidence;
  int unplanned_flows = 0;
  std::string unplanned_reason;  // of one of them
  std::string hashes_problem;    // why no hash of the Fabric can be used
};

// Sets the conditions, with switches as `spec` shows them. Texts change only when the reported
// state changes. LinksClean is not set where no port ever lost packets.
void AddNetworkConditions(const fabric::FabricSpec& spec, const NetworkHealth& health,
                          std::int64_t generation, std::int64_t now_ms, api::FabricStatus& status);

inline constexpr char kAgentsReportCondition[] = "AgentsReport";

// Says whether any agent has a stream. None: most likely the DaemonSet's node affinity names
// another label than the Fabric, so that it runs on no host.
void AddAgentsCondition(bool any_reports, const std::string& segment_label, std::int64_t generation,
                        std::int64_t now_ms, api::FabricStatus& status);

inline constexpr char kSegmentsUpCondition[] = "SegmentsUp";

// Sets lostSegments and condition SegmentsUp from the segments that are not up. A segment that
// the status names already, as the previous leader left it, stays lost while it is suspected or
// lost; one that a limit holds back is not lost. `steady_ms` and `now_ms`: the same instant.
void AddLostSegments(const std::vector<SegmentVerdict>& segments, std::int64_t generation,
                     std::int64_t steady_ms, std::int64_t now_ms, api::FabricStatus& status);

inline constexpr char kDomainsUpCondition[] = "DomainsUp";

// The same for domains.
void AddLostDomains(const std::vector<SegmentVerdict>& domains, std::int64_t generation,
                    std::int64_t steady_ms, std::int64_t now_ms, api::FabricStatus& status);

// As in SegmentVerdict::name.
std::string LostPlaceName(const api::LostSegment& lost);
std::string LostPlaceName(const api::LostDomain& lost);

}  // namespace yardmaster::op
