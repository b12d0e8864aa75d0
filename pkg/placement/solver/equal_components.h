// Gangs of equal components (gang_model.h) by the closed forms of whole_choice.h and
// uniform_solver.h: workers to pieces, and the answer back to workers.
//
// Deterministic. Thread safety: pure functions. Complexity: as the closed forms, and linear in
// workers.
#pragma once

#include <optional>

#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/solver/segment_plan.h"

namespace yardmaster::placement {

// Components of a split gang that may take part in one segment, by the limit of stages; 0: any
// number; nullopt: not even one.
std::optional<int> ComponentsPerSegment(const GangModel& model, const Capacity& capacity);

// Every component in one segment; nullopt where they do not all fit so. REQUIRES:
// model.equal_components, and no pod set over several components.
std::optional<SegmentPlan> KeepComponentsWhole(const SegmentProblem& problem,
                                               const Capacity& capacity);

// Splits components between `pieces`: units, which keeps tensor groups whole, or atoms, which finds
// a placement wherever splitting does, but not the best. REQUIRES: model.equal_components, equal
// pieces, `per_segment` of ComponentsPerSegment, no pod set over several components.
SegmentPlan SplitComponents(const SegmentProblem& problem, const Capacity& capacity, PodRule rule,
                            const Partition& pieces, int per_segment);

}  // namespace yardmaster::placement
