#include "pkg/placement/gang_planner.h"

#include <utility>

#include "pkg/placement/alike_planner.h"
#include "pkg/placement/role_planner.h"

namespace yardmaster::placement {

GangPlan PlanGang(const Cluster& cluster, const GangRequest& request,
                  const PlannerOptions& options) {
  GangPlan alike = PlanAlike(cluster, request, options);
  if (request.job->roles.size() < 2) return alike;
  return PlanRoles(cluster, request, options, std::move(alike));
}

}  // namespace yardmaster::placement
