// Chooses a segment for every worker: the model's structure decides which method answers.
//
//   equal components that all fit whole        whole_choice.h      closed form, exact
//   uniform gangs that must be split           uniform_solver.h    exact but for huge coverings
//   everything else                            gang_search.h       exact unless cut
//
// The search goes from coarse pieces to fine ones (piece_problem.h): whole components, whole units,
// whole tensor groups, atoms. If it is cut without a result, atoms are split by uniform_solver.h or
// pod_set_split.h, or filled by first_fit.h.
//
// Workers that may use different hosts (class_capacity.h) are "everything else", and are not split
// or filled. A gang that must lie in one fabric pod is solved pod by pod. Deterministic. Thread
// safety: pure.
#pragma once

#include <cstdint>

#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/solver/segment_plan.h"

namespace yardmaster::placement {

// `max_steps`: of all searches together. `any`: stop at the first placement.
SegmentPlan ChooseSegments(const SegmentProblem& problem, const Capacity& capacity,
                           std::int64_t max_steps = 150'000, bool any = false);

// Whether the gang fits at all; kUnknown where the search was cut.
enum class Fit { kYes, kNo, kUnknown };
Fit TryToFit(const fabric::Places& places, const GangModel& model,
             const workload::WorkerGroups& groups, const Capacity& capacity,
             std::int64_t max_steps);

}  // namespace yardmaster::placement
