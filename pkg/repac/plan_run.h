// What one run of PlanPaths or Replan works with: the ledger, the planner of single flows, and the
// order in which flows are looked at.
//
// Lifetimes: connections and forwarding must outlive the run; what it needs of the options is
// copied. The planner refers to the ledger, so a run must not be copied or moved. Thread safety:
// none.
#pragma once

#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "pkg/repac/flow_planner.h"
#include "pkg/repac/path_plan.h"
#include "pkg/repac/plan_ledger.h"

namespace yardmaster::repac {

struct PlanRun {
  PlanRun(const std::vector<NicConnection>& connections, const ForwardingModel& forwarding,
          const PathOptions& options);

  const NicConnection& connection_of(const PlannedFlow& flow) const {
    return ledger.connection_of(flow);
  }
  // The links that the flow has to take; empty: no constraint.
  std::span<const LinkId> ViaOf(const PlannedFlow& flow) const {
    return flow.back ? connection_of(flow).via_back : connection_of(flow).via;
  }
  bool Excluded(const NicConnection& connection) const;
  // Gives the flow a new port, or the reason why there is none. Does not add it to the ledger.
  void PlanOne(PlannedFlow& flow);
  // Finds alternates for all planned flows whose own does not work, and reserves them.
  void FillAlternates(std::span<PlannedFlow* const> order);

  PlanLedger ledger;
  FlowPlanner planner;

 private:
  absl::InlinedVector<NicPort, 4> PortsInto(const PlannedFlow& flow, LinkId first) const;

  const fabric::Network& network_;
  std::vector<Nic> excluded_;  // sorted
};

std::vector<PlannedFlow*> PointersTo(std::vector<PlannedFlow>& flows);
// The flows in the order of planning: those with given paths first, then the larger first, then by
// position.
std::vector<PlannedFlow*> PlanningOrder(const std::vector<NicConnection>& connections,
                                        std::span<PlannedFlow* const> flows);
// Makes the flow's present port, NIC port and links its home.
void SetHome(PlannedFlow& flow);

}  // namespace yardmaster::repac
