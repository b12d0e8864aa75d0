#include "pkg/placement/alike_planner.h"

#include <utility>

#include "pkg/base/strings.h"
#include "pkg/placement/reasons/explain.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/domain_solver.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/solver/gang_solver.h"
#include "pkg/placement/solver/host_fill.h"

namespace yardmaster::placement {

namespace {

// A model of the gang and where it would stand.
struct Attempt {
  GangModel model;
  Capacity capacity;
  SegmentPlan segments;
};

Attempt TryModel(const Cluster& cluster, const GangRequest& request, GangModel model,
                 std::int64_t max_steps) {
  Attempt out{std::move(model), {}, {}};
  out.capacity = CapacityFor(cluster, request, out.model);
  const std::vector<SegmentScore> scores = ScoreSegments(cluster, out.capacity);
  const SegmentProblem problem{*cluster.places, out.model, *request.groups, scores};
  out.segments = out.model.has_domains ? ChooseDomains(problem, cluster, out.capacity, max_steps)
                                       : ChooseSegments(problem, out.capacity, max_steps);
  return out;
}

// Workers that share hosts: where the objective does not suffer, tensor groups lie on one host each
// although nothing demands it, with their context groups if those fit, too.
void KeepGroupsOnHosts(const Cluster& cluster, const GangRequest& request, std::int64_t max_steps,
                       Attempt& base) {
  const int widest = base.capacity.max_on_host;
  if (widest < 2 || base.capacity.classes.any()) return;
  for (const bool with_context : {true, false}) {
    workload::Job job = *request.job;
    job.placement.tensor = {workload::TopologyLevel::kHost, workload::Enforcement::kRequired};
    if (with_context) job.placement.context = job.placement.tensor;
    GangModel model = ModelFor(cluster, job, *request.groups);
    if (model.host_set_size <= base.model.host_set_size || model.host_set_size > widest) continue;
    Attempt closer = TryModel(cluster, request, std::move(model), max_steps);
    if (!closer.segments.found || closer.segments.objective > base.segments.objective) continue;
    closer.segments.exact = base.segments.exact;
    closer.segments.bound = base.segments.bound;
    base = std::move(closer);
    return;
  }
}

}  // namespace

GangPlan PlanAlike(const Cluster& cluster, const GangRequest& request,
                   const PlannerOptions& options) {
  Attempt attempt = TryModel(cluster, request, ModelFor(cluster, *request.job, *request.groups),
                             options.max_steps);
  const SegmentPlan& segments = attempt.segments;
  GangPlan plan;
  if (segments.found) {
    KeepGroupsOnHosts(cluster, request, options.max_steps, attempt);
    plan.host_of_rank = FillHosts(
        cluster, attempt.capacity, attempt.model,
        attempt.model.has_domains ? segments.domain_of_worker : segments.segment_of_worker);
  }
  if (plan.host_of_rank.empty()) {
    NotPlaced why = NotPlaced::kHostsNotFound;
    if (!segments.found) why = segments.exact ? NotPlaced::kProved : NotPlaced::kSearchCut;
    Explain(cluster, request, attempt.model, attempt.capacity, why, options, plan);
    return plan;
  }
  plan.outcome = Outcome::kPlaced;
  plan.objective = segments.objective;
  plan.bound = segments.bound;
  plan.optimal = segments.exact;
  if (!plan.optimal) {
    plan.reasons.push_back({ReasonCode::kSearchCut, workload::TopologyLevel::kFabric,
                            options.max_steps,
                            StrCat("the search was cut after ", options.max_steps,
                                   " steps; a better placement may exist, up to the given bound")});
  }
  return plan;
}

}  // namespace yardmaster::placement
