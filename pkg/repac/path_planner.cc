#include "pkg/repac/path_planner.h"

#include "pkg/repac/plan_run.h"

namespace yardmaster::repac {

namespace {

// Flows in the order of PathPlan.
std::vector<PlannedFlow> EmptyFlows(const std::vector<NicConnection>& connections) {
  std::vector<PlannedFlow> flows;
  for (std::size_t c = 0; c < connections.size(); ++c) {
    const NicConnection& connection = connections[c];
    for (int back = 0; back < (connection.both_directions ? 2 : 1); ++back) {
      for (int path = 0; path < connection.paths; ++path) {
        PlannedFlow& flow = flows.emplace_back();
        flow.connection = static_cast<int>(c);
        flow.back = back == 1;
        flow.path = path;
        const Nic& from = flow.back ? connection.to : connection.from;
        const Nic& to = flow.back ? connection.from : connection.to;
        flow.src = {from.host, from.rail, 0};
        flow.dst = {to.host, to.rail, 0};
        flow.bytes = connection.bytes / connection.paths;
      }
    }
  }
  return flows;
}

}  // namespace

PathPlan PlanPaths(const std::vector<NicConnection>& connections, const ForwardingModel& forwarding,
                   const PathOptions& options) {
  PlanRun run(connections, forwarding, options);
  PathPlan plan;
  plan.flows = EmptyFlows(connections);
  const std::vector<PlannedFlow*> order = PlanningOrder(connections, PointersTo(plan.flows));
  for (PlannedFlow* flow : order) {
    run.PlanOne(*flow);
    SetHome(*flow);
    run.ledger.Add(*flow);
  }
  // After all main paths, so that alternates take what is left and not the other way round.
  if (options.alternates) run.FillAlternates(order);
  Account(forwarding, plan);
  return plan;
}

}  // namespace yardmaster::repac
