// Defines the result of the solver's methods, a segment for every worker, and their common input.
//
// Thread safety: values and pure functions.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/objective.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

struct SegmentPlan {
  bool found = false;
  bool exact = true;  // if found: optimal; else: proved impossible
  std::vector<int> segment_of_worker;
  std::vector<int> domain_of_worker;  // set by domain_solver.h only
  Objective objective;
  Objective bound;  // no plan is better
};

// The gang and the fabric. The references must outlive the value.
struct SegmentProblem {
  const fabric::Places& places;
  const GangModel& model;
  const workload::WorkerGroups& groups;
  const std::vector<SegmentScore>& scores;  // by SegmentId
};

// Completes a plan that has `segment_of_worker` and, unless it is exact, `bound`: breaks ties
// between segments unless they are `scored` already, orders the stages, computes the objective, and
// sets `exact` if the objective reaches the bound.
void Finish(const SegmentProblem& problem, const Capacity& capacity, bool scored,
            SegmentPlan& plan);

}  // namespace yardmaster::placement
