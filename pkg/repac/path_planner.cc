#include "pkg/repac/path_planner.h"

#include <algorithm>
#include <utility>

#include "pkg/repac/plan_run.h"

namespace yardmaster::repac {

namespace {

// Flows in the order of PathPlan.
std::vector<Flow> EmptyFlows(const std::vector<Connection>& connections) {
  std::vector<Flow> flows;
  for (std::size_t c = 0; c < connections.size(); ++c) {
    const Connection& connection = connections[c];
    for (int back = 0; back < (connection.both_directions ? 2 : 1); ++back) {
      for (int path = 0; path < connection.paths; ++path) {
        Flow flow;
        flow.connection = static_cast<int>(c);
        flow.back = back == 1;
        flow.path = path;
        const Nic& from = flow.back ? connection.to : connection.from;
        const Nic& to = flow.back ? connection.from : connection.to;
        flow.src = {from.host, from.rail, 0};
        flow.dst = {to.host, to.rail, 0};
        flow.bytes = connection.bytes / connection.paths;
        flows.push_back(std::move(flow));
      }
    }
  }
  return flows;
}

const PreviousPort* PreviousOf(const Connection& connection, const Flow& flow) {
  for (const PreviousPort& previous : connection.previous) {
    if (previous.back == flow.back && previous.path == flow.path) return &previous;
  }
  return nullptr;
}

bool BeginsWith(const std::vector<LinkId>& links, const std::vector<LinkId>& via) {
  // links[0] is the NIC's own.
  return links.size() > via.size() && std::equal(via.begin(), via.end(), links.begin() + 1);
}

// The flow by its previous port, if that is possible at all.
bool TakePrevious(const fabric::Network& network, PlanRun& run, Flow& flow) {
  const Connection& connection = run.connection_of(flow);
  const PreviousPort* previous = PreviousOf(connection, flow);
  if (previous == nullptr || previous->source_port < kFirstSourcePort) return false;
  const NicPort& src = previous->src;
  if (src.host != flow.src.host || src.rail != flow.src.rail || src.port < 0 ||
      src.port >= network.spec().nic_ports || run.Excluded(connection) ||
      (connection.plane >= 0 && connection.plane != network.plane_of(src))) {
    return false;
  }
  Flow kept = flow;
  if (!run.planner.PlanBy(kept, src, previous->source_port) || !run.ledger.IsWhole(kept.links) ||
      !BeginsWith(kept.links, run.ViaOf(flow))) {
    return false;
  }
  flow = std::move(kept);
  return true;
}

void TakePreviousAlternate(PlanRun& run, Flow& flow) {
  const PreviousPort* previous = PreviousOf(run.connection_of(flow), flow);
  if (previous == nullptr || previous->alternate_port < kFirstSourcePort) return;
  flow.alternate_port = previous->alternate_port;
  if (run.ledger.Taken(flow, flow.alternate_port) || !run.planner.AlternateWorks(flow)) {
    flow.alternate_port = 0;
  }
}

// Moves flows that kept their ports and would now be better off elsewhere. One pass makes the loads
// of equal flows as even as new ports would; more are for flows of mixed sizes.
void Improve(const std::vector<int>& order, const std::vector<char>& kept, double margin,
             PlanRun& run, std::vector<Flow>& flows) {
  constexpr int kPasses = 3;
  bool moved = true;
  for (int pass = 0; pass < kPasses && moved; ++pass) {
    moved = false;
    for (int i : order) {
      Flow& flow = flows[static_cast<std::size_t>(i)];
      if (kept[static_cast<std::size_t>(i)] == 0 || !run.ViaOf(flow).empty()) continue;
      run.ledger.Remove(flow);
      if (run.planner.HasBetterPlace(flow, margin * flow.bytes)) {
        Flow other = flow;
        run.planner.PlanFresh(other);
        if (other.planned()) {
          moved |= other.links != flow.links;
          flow = std::move(other);
        }
      }
      run.ledger.Add(flow);
    }
  }
}

}  // namespace

PathPlan PlanPaths(const std::vector<Connection>& connections, const PathWorld& world,
                   const PathOptions& options) {
  PlanRun run(connections, world, options);
  std::vector<Flow> flows = EmptyFlows(connections);
  const std::vector<int> order = PlanningOrder(connections, flows);
  std::vector<char> kept(flows.size());
  for (int i : order) {
    Flow& flow = flows[static_cast<std::size_t>(i)];
    if (!TakePrevious(world.network(), run, flow)) continue;
    kept[static_cast<std::size_t>(i)] = 1;
    run.ledger.Add(flow);
  }
  for (int i : order) {
    Flow& flow = flows[static_cast<std::size_t>(i)];
    if (kept[static_cast<std::size_t>(i)] != 0) continue;
    run.PlanOne(flow);
    run.ledger.Add(flow);
  }
  Improve(order, kept, options.keep_margin, run, flows);
  for (Flow& flow : flows) SetHome(flow);
  if (options.alternates) {
    // After all main paths, so that alternates take what is left and not the other way round; old
    // ones first, so that they keep their ports.
    for (int i : order) {
      Flow& flow = flows[static_cast<std::size_t>(i)];
      if (kept[static_cast<std::size_t>(i)] == 0 || !flow.planned()) continue;
      TakePreviousAlternate(run, flow);
      run.ledger.Reserve(flow, flow.alternate_port);
    }
    run.FillAlternates(order, flows);
  }
  return Finish(std::move(flows), world, options);
}

}  // namespace yardmaster::repac
