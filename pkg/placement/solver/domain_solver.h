// Chooses a domain for every worker, and with it the segment.
//
// The segments are chosen as on a fabric without domains (gang_solver.h), with workers that should
// share a domain as one piece and with the whole pieces that the domains of a segment take as its
// room: first with whole units, where nothing is split and the choice of segments stays exact, then
// with finer pieces where those do not fit. The domains of each segment are filled by
// domain_fill.h, and a segment gives way to one that does with fewer domains. What does not meet
// the bound is left to gang_search.h, for gangs of few pieces: exact unless cut. Larger gangs may
// be unproven then, above all in the number of domains.
//
// Deterministic. Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/placement/cluster.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/segment_plan.h"

namespace yardmaster::placement {

// `capacity` of `problem.model`. Of a plan that is found `domain_of_worker` is set, too.
// REQUIRES: the fabric has domains.
SegmentPlan ChooseDomains(const SegmentProblem& problem, const Cluster& cluster,
                          const Capacity& capacity, std::int64_t max_steps);

}  // namespace yardmaster::placement
