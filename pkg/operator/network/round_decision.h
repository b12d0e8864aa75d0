// What follows for the network from what a round has read: what is planned from, and what of the
// plan goes to the gangs and to people. The controller reads the facts before, and carries out the
// effects after it (network_controller.h).
//
// Thread safety: pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/crux/starvation.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/netplan/previous_network.h"
#include "pkg/operator/network/fabric_status.h"
#include "pkg/operator/network/network_annotations.h"
#include "pkg/operator/network/network_round.h"
#include "pkg/operator/network/network_starvation.h"
#include "pkg/operator/network/pods_by_gang.h"
#include "pkg/operator/network/socket_ports.h"
#include "pkg/operator/telemetry/network_faults.h"
#include "pkg/operator/telemetry/network_profiles.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

// What a round has read beside the snapshot.
struct NetworkFacts {
  PodsByGang pods;
  CableStates cables;
  NetworkHealth health;
  std::vector<MeasuredJob> measured;  // by index into Snapshot::jobs
};

// What to plan from, but for the seed, the budget and what is kept from the last round.
netplan::NetworkInput PlanInputOf(const NetworkFacts& facts);

// What of the plan people are told on the Fabric `fabric`.
std::vector<std::string> ProblemsOf(const netplan::NetworkReport& report,
                                    const std::string& fabric);
// What the plan adds to the Fabric's conditions.
void AddPlanHealth(const netplan::NetworkPlan& plan, NetworkHealth& health);

// What the gangs of the plan carry, with source ports for sockets and what was measured. Adds what
// could not be done to `problems`.
std::vector<GangNetwork> GangNetworksOf(const netplan::NetworkPlan& plan,
                                        const plan::Snapshot& snapshot, const NetworkFacts& facts,
                                        const std::map<std::string, std::string>& mistrusted,
                                        const NetworkOptions& options,
                                        std::vector<std::string>& problems);
// Of them, those whose numbers are measured or blended.
int MeasuredGangs(const std::vector<GangNetwork>& networks);

std::vector<StarvationView> StarvationViewsOf(const std::vector<GangNetwork>& networks,
                                              const plan::Snapshot& snapshot);
// Sets the levels of the gangs that are lifted.
void ApplyLifts(const StarvationVerdict& verdict, const plan::Snapshot& snapshot,
                std::vector<GangNetwork>& networks);
// One for each lift that begins or ends. Of a Gang that is gone none.
std::vector<NetworkNotice> LiftNotices(const StarvationVerdict& verdict, const GangsByKey& gangs,
                                       const crux::StarvationOptions& options);

}  // namespace yardmaster::op
