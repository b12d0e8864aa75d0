// Chooses a domain, and with it a segment, for every worker.
//
//   1. The segments are chosen as on a fabric without domains (gang_solver.h). Workers that should
//      share a domain are one piece, and the capacity of a segment is the number of whole pieces
//      that its domains take. Whole units are tried first: then nothing is split, and the choice of
//      segments is exact. If they do not fit, finer pieces follow.
//   2. The domains of each segment are filled by domain_fill.h. A segment is exchanged for one in
//      which the workers need fewer domains.
//   3. If the result does not reach the bound and the gang has few pieces, gang_search.h searches
//      for a better one: exact unless cut. For larger gangs the result may be unproven, mainly in
//      the number of domains.
//
// Deterministic. Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/placement/cluster.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/segment_plan.h"

namespace yardmaster::placement {

// `capacity`: of `problem.model`. A plan that is found also has `domain_of_worker`. REQUIRES: the
// fabric has domains.
SegmentPlan ChooseDomains(const SegmentProblem& problem, const Cluster& cluster,
                          const Capacity& capacity, std::int64_t max_steps);

}  // namespace yardmaster::placement
