#include "pkg/placement/gang_planner.h"

#include "pkg/base/strings.h"
#include "pkg/placement/capacity.h"
#include "pkg/placement/explain.h"
#include "pkg/placement/gang_model.h"
#include "pkg/placement/gang_solver.h"
#include "pkg/placement/host_fill.h"

namespace yardmaster::placement {

GangPlan PlanGang(const Cluster& cluster, const GangRequest& request,
                  const PlannerOptions& options) {
  const GangModel model = ModelOf(*request.job, *request.groups);
  const Capacity capacity = CapacityFor(cluster, request, model.host_unit);
  const SegmentPlan segments =
      ChooseSegments(*cluster.places, model, *request.groups, capacity,
                     ScoreSegments(cluster, capacity), {options.max_steps, false});
  GangPlan plan;
  if (segments.found) {
    plan.host_of_rank = FillHosts(cluster, capacity, model, segments.segment_of_worker);
  }
  if (plan.host_of_rank.empty()) {
    Explain(cluster, request, model, capacity, segments.exact && !segments.found, options, plan);
    return plan;
  }
  plan.outcome = Outcome::kPlaced;
  plan.objective = segments.objective;
  plan.bound = segments.bound;
  plan.optimal = segments.exact;
  if (!plan.optimal) {
    plan.reasons.push_back({ReasonCode::kSearchCut, workload::Within::kFabric, options.max_steps,
                            StrCat("the search was cut after ", options.max_steps,
                                   " steps; a better placement may exist, up to the given bound")});
  }
  return plan;
}

Objective Evaluate(const fabric::Places& places, const workload::WorkerGroups& groups,
                   const std::vector<fabric::HostId>& host_of_rank) {
  std::vector<int> segment_of_worker;
  segment_of_worker.reserve(host_of_rank.size());
  for (fabric::HostId host : host_of_rank) {
    segment_of_worker.push_back(places.segment_of(host).value);
  }
  return EvaluateSegments(places, groups, segment_of_worker);
}

}  // namespace yardmaster::placement
