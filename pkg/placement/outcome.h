// The result of planning a gang: placed, not now, or never, with reasons that events, conditions
// and `explain` print alike.
//
//   Placed   the gang has hosts
//   NotNow   the gang would fit if others left or hosts came back
//   Never    the gang would not fit on this fabric even if it were empty and healthy
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/objective.h"
#include "pkg/workload/job.h"

namespace yardmaster::placement {

enum class Outcome { kPlaced, kNotNow, kNever };
inline constexpr std::string_view kOutcomeNames[] = {"Placed", "NotNow", "Never"};
inline std::string_view Name(Outcome outcome) {
  return kOutcomeNames[static_cast<std::size_t>(outcome)];
}

enum class ReasonCode {
  kNotEnoughHosts,         // fewer suitable hosts than the gang needs
  kHostsOccupied,          // suitable hosts that other jobs or pods hold
  kHostsOut,               // NotReady, cordoned or tainted hosts
  kHostsKeptAsBackup,      // hosts that the backup policy keeps free
  kInsufficientResources,  // hosts with enough free GPUs and too little of another resource
  kHostsExcluded,          // excluded by the pod template's selectors or tolerations
  kGpuModelsDiffer,        // no GPU model alone has enough hosts
  kGroupTooLarge,          // a Required group needs more than any place of its level has
  kReserved,               // hosts reserved for a job that waits longer
  kWaitsForTurn,           // an earlier job of the queue must go first
  kHostsLeaving,           // hosts that will soon be free allow its place, or a better one
  kSearchCut,              // the exact search was cut; the bound limits the distance to the best
  kInvalid,                // the job contradicts itself
};
inline constexpr std::string_view kReasonCodeNames[] = {"NotEnoughHosts",
                                                        "HostsOccupied",
                                                        "HostsOut",
                                                        "HostsKeptAsBackup",
                                                        "InsufficientResources",
                                                        "HostsExcluded",
                                                        "GpuModelsDiffer",
                                                        "GroupTooLarge",
                                                        "Reserved",
                                                        "WaitsForTurn",
                                                        "HostsLeaving",
                                                        "SearchCut",
                                                        "Invalid"};
inline std::string_view Name(ReasonCode code) {
  return kReasonCodeNames[static_cast<std::size_t>(code)];
}

struct Reason {
  ReasonCode code = ReasonCode::kNotEnoughHosts;
  workload::TopologyLevel level = workload::TopologyLevel::kFabric;  // where the count was taken
  std::int64_t count = 0;  // how many hosts are missing, occupied, out of service, ...
  std::string message;     // one sentence, no per-host lists
  bool operator==(const Reason&) const = default;
};

// A change of the job, of the cluster, or of both, and the outcome after it.
struct Relaxation {
  // The change of the job's spec as YAML, then, after "; ", of the cluster: "placement: {data:
  // {within: FabricPod}}; hosts: 1 more in segment p0s1".
  std::string change;
  Outcome outcome = Outcome::kPlaced;
  bool operator==(const Relaxation&) const = default;
};

struct GangPlan {
  Outcome outcome = Outcome::kNotNow;
  std::vector<fabric::HostId> host_of_rank;  // by worker rank; empty unless Placed
  Objective objective;
  std::vector<Reason> reasons;          // empty if Placed, except for kSearchCut
  std::vector<Relaxation> relaxations;  // nearest first
  // The hosts that the reason kHostsOccupied counts, ascending. plan/host_holders.h names their
  // holders, which the cluster does not contain.
  std::vector<fabric::HostId> occupied;
  // False: not proved optimal, because the search was cut, considered only some places, or kept
  // ranks in place.
  bool optimal = true;
  // PlanGang: no placement is better than this bound; equals `objective` if optimal. Planners that
  // keep ranks in place (partial_planner.h, replacement.h) set it to `objective`.
  Objective bound;
};

// Returns one line: every reason, what crosses fabric pods other than pipelines, then the nearest
// two changes that would help. Events, conditions, `explain` and `plan` use this text.
std::string Sentence(const GangPlan& plan);

}  // namespace yardmaster::placement
