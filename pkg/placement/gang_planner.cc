#include "pkg/placement/gang_planner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/placement/alike_planner.h"
#include "pkg/placement/gpu_models.h"
#include "pkg/placement/role_planner.h"

namespace yardmaster::placement {

namespace {

GangPlan PlanOnAllowed(const Cluster& cluster, const GangRequest& request,
                       const PlannerOptions& options) {
  GangPlan alike = PlanAlike(cluster, request, options);
  const bool hosts_differ = ClassesOf(request.role_hosts, request.job->workers).differ();
  if (request.job->roles.size() < 2 && !hosts_differ) return alike;
  return PlanRoles(cluster, request, options, std::move(alike));
}

GangPlan PlanOnModel(const Cluster& cluster, const GangRequest& request,
                     const PlannerOptions& options, std::uint8_t model) {
  const std::vector<std::uint8_t> hosts = HostsOfModel(cluster, request, model);
  GangRequest narrowed = request;
  narrowed.eligible = &hosts;
  return PlanOnAllowed(cluster, narrowed, options);
}

struct ModelPlan {
  std::uint8_t model = 0;
  std::size_t hosts = 0;  // that the request allows
  GangPlan plan;
};

// Placed with the least objective, then NotNow before Never with the most hosts.
bool IsBetter(const ModelPlan& a, const ModelPlan& b) {
  if (a.plan.outcome != b.plan.outcome) return a.plan.outcome < b.plan.outcome;
  if (a.plan.outcome == Outcome::kPlaced) return a.plan.objective < b.plan.objective;
  return a.hosts > b.hosts;
}

ModelPlan BestModel(const Cluster& cluster, const GangRequest& request,
                    const PlannerOptions& options, const std::vector<std::uint8_t>& models) {
  std::optional<ModelPlan> best;
  for (const std::uint8_t model : models) {
    const std::vector<std::uint8_t> hosts = HostsOfModel(cluster, request, model);
    ModelPlan next{model, static_cast<std::size_t>(std::count(hosts.begin(), hosts.end(), 1)),
                   PlanOnModel(cluster, request, options, model)};
    if (!best || IsBetter(next, *best)) best = std::move(next);
  }
  return *std::move(best);
}

// `mixed`: the plan on all hosts that the request allows, which is not Never.
GangPlan PlanOnOneModel(const Cluster& cluster, const GangRequest& request,
                        const PlannerOptions& options, GangPlan mixed) {
  const std::vector<std::uint8_t> models = AllowedGpuModels(cluster, request);
  if (models.size() < 2) return mixed;
  PlannerOptions quick = options;
  quick.explain = false;
  auto [model, hosts, plan] = BestModel(cluster, request, quick, models);
  if (plan.outcome == Outcome::kPlaced || !options.explain) return plan;
  plan = PlanOnModel(cluster, request, options, model);
  plan.reasons.insert(plan.reasons.begin(),
                      {ReasonCode::kGpuModelsDiffer, workload::TopologyLevel::kFabric,
                       static_cast<std::int64_t>(models.size()),
                       StrCat("all workers get GPUs of one model, and there are ",
                              GpuModelCounts(cluster, &request),
                              "; what follows counts hosts with ", ShownGpuModel(cluster, model))});
  if (mixed.outcome < plan.outcome) {
    plan.relaxations.insert(plan.relaxations.begin(), {"mixedGpuModels: true", mixed.outcome});
  }
  return plan;
}

}  // namespace

GangPlan PlanGang(const Cluster& cluster, const GangRequest& request,
                  const PlannerOptions& options) {
  GangPlan plan = PlanOnAllowed(cluster, request, options);
  const workload::Job& job = *request.job;
  if (plan.outcome == Outcome::kNever && cluster.gpu_models != nullptr && !job.gpu_model.empty() &&
      !HasGpuModel(cluster, job.gpu_model)) {
    plan.reasons.insert(
        plan.reasons.begin(),
        {ReasonCode::kHostsExcluded, workload::TopologyLevel::kFabric,
         static_cast<std::int64_t>(cluster.hosts.size()),
         StrCat("no host has GPU model ", job.gpu_model, "; here: ", GpuModelCounts(cluster))});
  }
  const bool one_model =
      job.mixed_gpu_models || cluster.num_gpu_models() < 2 || plan.outcome == Outcome::kNever ||
      (plan.outcome == Outcome::kPlaced && GpuModelsOf(cluster, job, plan.host_of_rank).size() < 2);
  return one_model ? plan : PlanOnOneModel(cluster, request, options, std::move(plan));
}

}  // namespace yardmaster::placement
