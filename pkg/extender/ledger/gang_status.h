// Computes the next status of a Gang from the planner's result or from another event in the life of
// the gang. The functions return the new status and write nothing.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/placement/outcome.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/release_rule.h"

namespace yardmaster::extender {

// Sets a condition, observed at the gang's present generation. Returns false if nothing changed.
bool SetCondition(api::GangStatus& status, const api::Gang& gang, const char* type, bool holds,
                  const std::string& reason, const std::string& message, std::int64_t now_ms);

using state::HoldsHosts;
using state::IsFinished;

// A gang that has finished: its hosts are free; the assignments stay readable.
api::GangStatus Finished(const api::Gang& gang, const std::string& reason, const std::string& why,
                         std::int64_t now_ms);
// A gang that gives its hosts back and is planned again when all its pods exist again. `reason`: of
// its conditions. Also ends the condition Finished.
api::GangStatus GivenBack(const api::Gang& gang, const std::string& reason, const std::string& why,
                          std::int64_t now_ms);

// kExpediteMs: for how long a gang that lost its place through no act of its owner is planned
// before the other gangs of its priority (api::kExpeditedCondition). kExpediteAgainMs: the minimum
// time from the last transition of that condition to the next such period. Without it, a gang whose
// hosts are refused each time would block the others.
inline constexpr std::int64_t kExpediteMs = 600'000;
inline constexpr std::int64_t kExpediteAgainMs = 3'600'000;

// Begins that period, in the status of a gang that has just given its hosts back. Does nothing if
// the condition last changed less than kExpediteAgainMs ago.
void Expedite(api::GangStatus& status, const api::Gang& gang, const std::string& reason,
              std::int64_t now_ms);
// Returns the start of the period; nullopt: the gang is not expedited, or the period is over.
std::optional<std::int64_t> ExpeditedSinceMs(const api::GangStatus& status, std::int64_t now_ms);
// Ends the condition if the period is over.
void EndExpedited(api::GangStatus& status, const api::Gang& gang, std::int64_t now_ms);

// A gang without a place that is not planned because some of its pods are missing. Earlier results
// are cleared. `reason`: of its condition Planned.
api::GangStatus WithoutPods(const api::Gang& gang, const std::string& reason,
                            const std::string& why, std::int64_t now_ms);

// A gang whose `plan` (Placed) is committed: next plan generation, assignments by name, condition
// Planned. If the gang had no place, the conditions about its previous place that are False, and
// those about its wait, are removed.
api::GangStatus Committed(const api::Gang& gang, const placement::GangPlan& plan,
                          const plan::JobState& job, const plan::Snapshot& snapshot,
                          std::int64_t now_ms);

// Returns the assignments for `host_of_rank`.
std::vector<api::AssignmentEntry> AssignmentsOf(const std::vector<fabric::HostId>& host_of_rank,
                                                const plan::JobState& job,
                                                const fabric::Places& places);

// A gang that has left its hosts and moves to the promised next ones: they become its place.
// REQUIRES: is_promised_next.
api::GangStatus Moved(const api::Gang& gang, std::int64_t now_ms);

// A placed gang whose ranks no longer need other hosts: as after its commit.
api::GangStatus PlacedAsBefore(const api::Gang& gang, const plan::JobState& job,
                               const plan::Snapshot& snapshot, std::int64_t now_ms);

// A placed gang with the condition Degraded as its lost ranks require.
api::GangStatus Degraded(const api::Gang& gang, const plan::JobState& job,
                         const plan::Snapshot& snapshot, std::int64_t now_ms);

// Merges `wanted`, which was computed from `base`, with what the operator has written since:
// status.network, and conditions that `wanted` does not change. Returns nullopt if `now` differs
// from `base` in anything else: `wanted` must then be computed again.
std::optional<api::GangStatus> WithOperatorsPart(const api::Gang& base,
                                                 const api::GangStatus& wanted,
                                                 const api::Gang& now);

// A gang that is not placed: outcome, reasons, relaxations, condition Planned=False.
api::GangStatus NotPlaced(const api::Gang& gang, const placement::GangPlan& plan,
                          std::int64_t now_ms);

}  // namespace yardmaster::extender
