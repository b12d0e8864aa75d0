// The pure part of a network round: derives the input of the planner from the facts that the round
// read, and from the plan what the gangs get and what is reported. The controller reads the facts
// before and carries out the effects afterwards (network_controller.h).
//
// Thread safety: pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/crux/starvation.h"
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

// What a round has read in addition to the snapshot.
struct NetworkFacts {
  PodsByGang pods;
  CableStates cables;
  NetworkHealth health;
  std::vector<MeasuredJob> measured;  // by index into Snapshot::jobs
};

// Returns the input of the planner, without the seed, the budget and the state kept from the last
// round.
netplan::NetworkInput PlanInputOf(const NetworkFacts& facts);

// Returns the problems of the plan that are reported on the Fabric `fabric`.
std::vector<std::string> ProblemsOf(const netplan::NetworkReport& report,
                                    const std::string& fabric);
// Adds to `health` what the plan contributes to the Fabric's conditions.
void AddPlanHealth(const netplan::NetworkPlan& plan, NetworkHealth& health);

// Returns the networks of the gangs of the plan, with source ports for sockets and measured
// profiles. Adds what could not be done to `problems`.
std::vector<GangNetwork> GangNetworksOf(const netplan::NetworkPlan& plan,
                                        const plan::Snapshot& snapshot, const NetworkFacts& facts,
                                        const std::map<std::string, std::string>& mistrusted,
                                        const NetworkOptions& options,
                                        std::vector<std::string>& problems);
// Returns how many of them have measured or blended numbers.
int MeasuredGangs(const std::vector<GangNetwork>& networks);

std::vector<StarvationView> StarvationViewsOf(const std::vector<GangNetwork>& networks,
                                              const plan::Snapshot& snapshot);
// Sets the levels of lifted gangs.
void ApplyLifts(const StarvationVerdict& verdict, const plan::Snapshot& snapshot,
                std::vector<GangNetwork>& networks);
// Returns a notice for each lift that begins or ends; none for Gangs that are gone.
std::vector<NetworkNotice> LiftNotices(const StarvationVerdict& verdict,
                                       const state::ObjectTable<api::Gang>& gangs,
                                       const crux::StarvationOptions& options);

}  // namespace yardmaster::op
