// Chooses a segment for every worker. The structure of the model decides which method is used:
//
//   equal components that all fit whole        whole_choice.h      closed form, exact
//   uniform gangs that must be split           uniform_solver.h    exact except for huge coverings
//   all others                                 gang_search.h       exact unless cut
//
//   - The search goes from coarse pieces to fine ones (piece_problem.h): whole components, whole
//     units, whole tensor groups, atoms. If it is cut without a result, atoms are split by
//     uniform_solver.h or pod_set_split.h, or placed by first_fit.h.
//   - Gangs whose workers may use different hosts (class_capacity.h) are searched only.
//   - A gang that must be in one fabric pod is solved for each pod separately.
//
// Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/solver/segment_plan.h"

namespace yardmaster::placement {

// `max_steps`: for all searches together. `any`: stop at the first placement.
SegmentPlan ChooseSegments(const SegmentProblem& problem, const Capacity& capacity,
                           std::int64_t max_steps = 150'000, bool any = false);

// Whether the gang fits; kUnknown if the search was cut.
enum class Fit { kYes, kNo, kUnknown };
Fit TryToFit(const fabric::Places& places, const GangModel& model,
             const workload::WorkerGroups& groups, const Capacity& capacity,
             std::int64_t max_steps);

}  // namespace yardmaster::placement
