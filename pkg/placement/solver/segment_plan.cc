#include "pkg/placement/solver/segment_plan.h"

#include "pkg/placement/solver/segment_exchange.h"
#include "pkg/placement/solver/stage_order.h"

namespace yardmaster::placement {

void Finish(const SegmentProblem& problem, const Capacity& capacity, bool scored,
            SegmentPlan& plan) {
  plan.found = true;
  if (capacity.classes.any()) {
    ExchangeForClasses(problem.places, capacity, problem.scores, plan.segment_of_worker);
  } else {
    if (!scored) ExchangeSegments(problem.places, capacity, problem.scores, plan.segment_of_worker);
    OrderStages(problem.model, plan.segment_of_worker);
  }
  plan.objective = EvaluateSegments(problem.places, problem.groups, plan.segment_of_worker);
  if (plan.objective <= plan.bound) plan.exact = true;
  if (plan.exact) plan.bound = plan.objective;
}

}  // namespace yardmaster::placement
