// Replan: a plan after a failure or a repair, with as few changes as that allows.
#include <algorithm>
#include <span>

#include "pkg/repac/path_planner.h"
#include "pkg/repac/plan_run.h"

namespace yardmaster::repac {

namespace {

using fabric::Network;

std::span<const LinkId> Behind(const LinkPath& links) {
  return std::span<const LinkId>(links).subspan(1);
}

// Whether other paths of the connection have taken one of the links meanwhile.
bool SharedWithSiblings(const PlanRun& run, const PlannedFlow& flow,
                        std::span<const LinkId> links) {
  if (run.connection_of(flow).paths == 1) return false;
  const std::vector<LinkId>& forbidden = run.ledger.LinksOfOtherPaths(flow);
  return std::any_of(links.begin(), links.end(), [&forbidden](LinkId link) {
    return std::find(forbidden.begin(), forbidden.end(), link) != forbidden.end();
  });
}

// Whether `port` takes the flow from `src` over exactly these links, all of them whole.
bool Holds(const ForwardingModel& forwarding, PlanRun& run, const PlannedFlow& flow,
           const NicPort& src, std::uint16_t port, std::span<const LinkId> links) {
  if (port == 0 || !run.ledger.IsWhole(links) || run.ledger.Taken(flow, port)) return false;
  const NicPort dst{flow.dst.host, flow.dst.rail, forwarding.network().plane_of(src)};
  return std::ranges::equal(run.planner.PathOf(src, dst, port), links) &&
         !SharedWithSiblings(run, flow, links);
}

// Keeps the flow's port, or gives it back the one of its home.
bool Keep(const ForwardingModel& forwarding, PlanRun& run, PlannedFlow& flow) {
  if (Holds(forwarding, run, flow, flow.home_src, flow.home_port, flow.home_links)) {
    flow.src = flow.home_src;
    flow.dst = forwarding.network().nic_port_of(Network::cable_of(flow.home_links.back()));
    flow.source_port = flow.home_port;
    if (flow.links != flow.home_links) flow.links = flow.home_links;
    flow.reason.clear();
    return true;
  }
  const bool away = flow.links != flow.home_links;
  if (away && run.ledger.IsWhole(flow.home_links)) return false;  // it goes home by another port
  return Holds(forwarding, run, flow, flow.src, flow.source_port, flow.links);
}

// The same links by another port: those of home, else those it has.
bool Regain(PlanRun& run, PlannedFlow& flow) {
  if (run.ledger.IsWhole(flow.home_links) &&
      run.planner.PlanAlong(flow, flow.home_src, Behind(flow.home_links))) {
    return true;
  }
  return run.ledger.IsWhole(flow.links) &&
         run.planner.PlanAlong(flow, flow.src, Behind(flow.links));
}

bool TakeAlternate(PlanRun& run, PlannedFlow& flow) {
  if (!run.planner.AlternateWorks(flow) ||
      !run.planner.PlanBy(flow, flow.src, flow.alternate_port)) {
    return false;
  }
  flow.alternate_port = 0;
  return true;
}

}  // namespace

void Replan(std::span<PlannedFlow* const> flows, const std::vector<NicConnection>& connections,
            const ForwardingModel& forwarding, const PathOptions& options) {
  PlanRun run(connections, forwarding, options);
  const std::vector<PlannedFlow*> order = PlanningOrder(connections, flows);
  std::vector<char> settled(order.size());
  // First all that can keep their ports, then all that can keep their links, so that the others see
  // the true loads and take no port that is in use.
  for (bool by_port : {true, false}) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      PlannedFlow& flow = *order[i];
      if (settled[i] != 0 || run.Excluded(run.connection_of(flow))) continue;
      settled[i] = by_port ? Keep(forwarding, run, flow) : Regain(run, flow);
      if (settled[i] != 0) run.ledger.Add(flow);
    }
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (settled[i] != 0) continue;
    PlannedFlow& flow = *order[i];
    const bool never_planned = flow.home_port == 0;
    if (!flow.planned() || run.Excluded(run.connection_of(flow)) || !TakeAlternate(run, flow)) {
      flow.source_port = flow.alternate_port = 0;
      flow.links.clear();
      run.PlanOne(flow);
    }
    if (never_planned) SetHome(flow);
    run.ledger.Add(flow);
  }
  if (options.alternates) run.FillAlternates(order);
}

PathPlan Replan(PathPlan old, const std::vector<NicConnection>& connections,
                const ForwardingModel& forwarding, const PathOptions& options) {
  Replan(PointersTo(old.flows), connections, forwarding, options);
  Account(forwarding, old);
  return old;
}

}  // namespace yardmaster::repac
