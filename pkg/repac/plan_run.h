// PlanRun has the state of one run of PlanPaths or Replan: the ledger, the planner of single flows,
// and the order of flows.
//
// Lifetimes: connections and forwarding outlive the run; the options are copied. The planner refers
// to the ledger, so a run must not be copied or moved. Thread safety: one thread.
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
  // Returns the links that the flow must take; empty: no constraint.
  std::span<const LinkId> ViaOf(const PlannedFlow& flow) const {
    return flow.back ? connection_of(flow).via_back : connection_of(flow).via;
  }
  bool Excluded(const NicConnection& connection) const;
  // Gives the flow a new port, or a reason if there is none. Does not add it to the ledger.
  void PlanOne(PlannedFlow& flow);
  // Finds and reserves alternates for all planned flows whose present one does not work.
  void FillAlternates(std::span<PlannedFlow* const> order);

  PlanLedger ledger;
  FlowPlanner planner;

 private:
  absl::InlinedVector<NicPort, 4> PortsInto(const PlannedFlow& flow, LinkId first) const;

  const fabric::Network& network_;
  std::vector<Nic> excluded_;  // sorted
};

std::vector<PlannedFlow*> PointersTo(std::vector<PlannedFlow>& flows);
// Returns the flows in the order of planning: those with given paths first, then by size, then by
// position.
std::vector<PlannedFlow*> PlanningOrder(const std::vector<NicConnection>& connections,
                                        std::span<PlannedFlow* const> flows);
// Sets the flow's home to its present port, NIC port and links.
void SetHome(PlannedFlow& flow);

}  // namespace yardmaster::repac
