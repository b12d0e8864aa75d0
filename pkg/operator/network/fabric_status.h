// Computes the status of a Fabric: the number of its places and hosts, whether the planner can use
// it, and the state of its links, cables and hashes.
//
// Thread safety: pure functions.
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

// Returns the status with its counts and these conditions:
//
//   - Ready: False if `used` is false, if the spec is invalid, or if the Nodes need more ports than
//     the Fabric has. In the last two cases the message is the warning of `snapshot`.
//   - DevicesCounted: False while devices that pods claim cannot be counted exactly. Not set if
//     they always could.
//   - DomainsConsistent: False while domain labels contradict the Fabric or each other. Not set if
//     they never did.
//
// `used`: `snapshot` was built with this Fabric. A cluster uses one Fabric.
api::FabricStatus StatusOf(const api::Fabric& fabric, const plan::Snapshot& snapshot, bool used,
                           std::int64_t now_ms);

// Condition types of the network's state; also kLinksCleanCondition (lossy_cables.h).
inline constexpr char kLinksUpCondition[] = "LinksUp";
inline constexpr char kWiringVerifiedCondition[] = "WiringVerified";
inline constexpr char kPathsTrustedCondition[] = "PathsTrusted";
inline constexpr char kPathsPlannedCondition[] = "PathsPlanned";

struct NetworkHealth {
  std::vector<std::string> down;  // names of the cables reported down, in order
  int held = 0;                   // cables that are up and held back
  int distrusted = 0;  // NIC ports reported down, if they are so many that the reports are dropped
  std::string links_problem;  // error of the annotation down-links
  LossyCables lossy;
  Evidence evidence;
  int unplanned_flows = 0;
  std::string unplanned_reason;  // why one of them is not planned
  std::string hashes_problem;    // why the Fabric's hashes cannot be used
};

// Sets the conditions. `spec`: how switches are named. Messages change only if the reported state
// changes. LinksClean is not set if no port ever lost packets.
void AddNetworkConditions(const fabric::FabricSpec& spec, const NetworkHealth& health,
                          std::int64_t generation, std::int64_t now_ms, api::FabricStatus& status);

inline constexpr char kAgentsReportCondition[] = "AgentsReport";

// Sets AgentsReport: whether any agent has a stream. If none has, the node affinity of the
// DaemonSet probably names another label than the Fabric, so that no agent runs.
void AddAgentsCondition(bool any_reports, const std::string& segment_label, std::int64_t generation,
                        std::int64_t now_ms, api::FabricStatus& status);

inline constexpr char kSegmentsUpCondition[] = "SegmentsUp";

// Sets lostSegments and condition SegmentsUp from the segments that are not up. A segment that the
// status already names stays lost while it is suspected or lost, also if a previous leader wrote
// it. A segment that a limit holds back is not lost. `steady_ms`, `now_ms`: the same time by both
// clocks.
void AddLostSegments(const std::vector<SegmentVerdict>& segments, std::int64_t generation,
                     std::int64_t steady_ms, std::int64_t now_ms, api::FabricStatus& status);

inline constexpr char kDomainsUpCondition[] = "DomainsUp";

// Like AddLostSegments, for domains.
void AddLostDomains(const std::vector<SegmentVerdict>& domains, std::int64_t generation,
                    std::int64_t steady_ms, std::int64_t now_ms, api::FabricStatus& status);

// Return the name as in SegmentVerdict::name.
std::string LostPlaceName(const api::LostSegment& lost);
std::string LostPlaceName(const api::LostDomain& lost);

}  // namespace yardmaster::op
