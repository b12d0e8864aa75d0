// From a planner's result to a Gang's status: the assignments of a commit, and the reasons why a
// gang waits.
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

// Sets a condition of the gang, as observed at its present generation. False: nothing changed.
bool SetCondition(api::GangStatus& status, const api::Gang& gang, const char* type, bool holds,
                  const std::string& reason, const std::string& message, std::int64_t now_ms);

using state::HoldsHosts;
using state::IsFinished;

// Status of a gang that has finished: its hosts are free, the assignments stay to be read.
api::GangStatus Finished(const api::Gang& gang, const std::string& reason, const std::string& why,
                         std::int64_t now_ms);
// Status of a gang that gives its hosts back and is planned again when all its pods are there
// again; `reason` is that of its conditions. Also ends a Finished condition.
api::GangStatus GivenBack(const api::Gang& gang, const std::string& reason, const std::string& why,
                          std::int64_t now_ms);

// For how long a gang that lost its place through no act of its owner goes before gangs of its
// priority (api::kExpeditedCondition), and how long after the last time it may do so again: a gang
// whose hosts are refused each time would keep others waiting for good.
inline constexpr std::int64_t kExpediteMs = 600'000;
inline constexpr std::int64_t kExpediteAgainMs = 3'600'000;

// Begins that time in the status of a gang that has just given its hosts back. Nothing where the
// last one ended less than kExpediteAgainMs ago.
void Expedite(api::GangStatus& status, const api::Gang& gang, const std::string& reason,
              std::int64_t now_ms);
// Since when it has been expedited; nullopt: it is not, or its time is over.
std::optional<std::int64_t> ExpeditedSinceMs(const api::GangStatus& status, std::int64_t now_ms);
// Ends the condition of a gang whose time is over.
void EndExpedited(api::GangStatus& status, const api::Gang& gang, std::int64_t now_ms);

// Status of a gang without a place that is not planned, because pods of it are missing: what was
// planned before does not hold. `reason` is that of its condition Planned.
api::GangStatus WithoutPods(const api::Gang& gang, const std::string& reason,
                            const std::string& why, std::int64_t now_ms);

// Status after committing `plan` (Placed): next plan generation, assignments by name, condition
// Planned. A gang that had no place loses the conditions that are False and were about its former
// place, or about its wait.
api::GangStatus Committed(const api::Gang& gang, const placement::GangPlan& plan,
                          const plan::JobState& job, const plan::Snapshot& snapshot,
                          std::int64_t now_ms);

// Slots of `host_of_rank` for the ranks of `job`.
std::vector<api::AssignmentEntry> AssignmentsOf(const std::vector<fabric::HostId>& host_of_rank,
                                                const plan::JobState& job,
                                                const fabric::Places& places);

// Status of a gang that has left its hosts for those that were promised to it as its next ones:
// these are its place, and its pods are to come. REQUIRES: is_promised_next.
api::GangStatus Moved(const api::Gang& gang, std::int64_t now_ms);

// Status of a placed gang whose ranks waited for other hosts and need none any more: as after its
// commit.
api::GangStatus PlacedAsBefore(const api::Gang& gang, const plan::JobState& job,
                               const plan::Snapshot& snapshot, std::int64_t now_ms);

// Status of a placed gang with condition Degraded as its lost ranks have it.
api::GangStatus Degraded(const api::Gang& gang, const plan::JobState& job,
                         const plan::Snapshot& snapshot, std::int64_t now_ms);

// `wanted`, which was made from `base`, with what the operator has written since: the network's
// part, and conditions that `wanted` leaves as they were. nullopt: `now` differs from `base` in
// something else, and `wanted` may not hold.
std::optional<api::GangStatus> WithOperatorsPart(const api::Gang& base,
                                                 const api::GangStatus& wanted,
                                                 const api::Gang& now);

// Status of a gang that is not placed: outcome, reasons, relaxations, condition Planned=False.
api::GangStatus NotPlaced(const api::Gang& gang, const placement::GangPlan& plan,
                          std::int64_t now_ms);

}  // namespace yardmaster::extender
