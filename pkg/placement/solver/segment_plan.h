// A segment for every worker of a gang: what each method of the solver answers, and what each is
// given. Thread safety: values and pure functions.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/objective.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

struct SegmentPlan {
  bool found = false;
  bool exact = true;  // found: optimal; not found: proved impossible
  std::vector<int> segment_of_worker;
  std::vector<int> domain_of_worker;  // of domain_solver.h only
  Objective objective;
  Objective bound;  // no plan is better
};

// The gang and the fabric. What is referred to must outlive the value.
struct SegmentProblem {
  const fabric::Places& places;
  const GangModel& model;
  const workload::WorkerGroups& groups;
  const std::vector<SegmentScore>& scores;  // by SegmentId
};

// Makes a plan of `segment_of_worker` and, unless the plan is exact, `bound`: settles ties between
// segments, unless they are `scored` already, orders the stages, computes the objective, and sets
// `exact` where it meets the bound.
void Finish(const SegmentProblem& problem, const Capacity& capacity, bool scored,
            SegmentPlan& plan);

}  // namespace yardmaster::placement
