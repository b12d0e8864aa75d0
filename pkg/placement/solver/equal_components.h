// Solves gangs of equal components (gang_model.h) by the closed forms of whole_choice.h and
// uniform_solver.h: converts workers to pieces, and the result back to workers.
//
// Complexity: that of the closed forms, plus linear in the workers. Deterministic. Thread safety:
// pure functions.
#pragma once

#include <optional>

#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/solver/segment_plan.h"

namespace yardmaster::placement {

// Returns how many components of a split gang may use one segment, by the limit of stages; 0: any
// number; nullopt: none.
std::optional<int> ComponentsPerSegment(const GangModel& model, const Capacity& capacity);

// Puts every component into one segment. Returns nullopt if they do not all fit so. REQUIRES:
// model.equal_components, and no pod set with several components.
std::optional<SegmentPlan> KeepComponentsWhole(const SegmentProblem& problem,
                                               const Capacity& capacity);

// Splits components between `pieces`. With units as pieces, tensor groups stay whole. With atoms, a
// placement is found whenever splitting gives one, but not always the best. REQUIRES:
// model.equal_components, equal pieces, `per_segment` from ComponentsPerSegment, no pod set with
// several components.
SegmentPlan SplitComponents(const SegmentProblem& problem, const Capacity& capacity, PodRule rule,
                            const Partition& pieces, int per_segment);

}  // namespace yardmaster::placement
