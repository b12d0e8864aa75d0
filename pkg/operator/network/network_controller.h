// Writes Crux's numbers, levels and RePaC's source ports for all placed gangs together, because
// they share links. A round plans on a snapshot, starting from the present plan, then writes only
// what differs (network_writes.h has order and rate).
//
// The present plan is kept from round to round; a controller that has just started, or whose fabric
// has just changed, reads it from Gangs and pods (previous_network_reader.h). Around the plan,
// every round: which cables are down or held back (network_faults.h), whether reports agree with
// the Fabric (network_evidence.h), what jobs measured (network_profiles.h), which jobs starve
// (network_starvation.h). The findings are written to the Fabric's conditions; a condition that
// turns is an event. Plans of ranks whose pods are yet to be made are handed over before anything
// is written (planned_ranks.h): those pods are made with them.
//
// Rounds are called by one debounced thread. A write that fails is reported and made by the next
// round. Writes that the rate defers go out by WriteDeferred, between rounds and without a plan.
// Thread safety: one thread calls RunOnce, WriteDeferred, Forget and Reset. Lifetimes: everything
// passed in outlives the controller.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/crux/search/anytime_search.h"
#include "pkg/crux/starvation.h"
#include "pkg/kube/client.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/netplan/previous_network.h"
#include "pkg/operator/hosts/host_health.h"
#include "pkg/operator/network/fabric_status.h"
#include "pkg/operator/network/network_annotations.h"
#include "pkg/operator/network/network_round.h"
#include "pkg/operator/network/network_starvation.h"
#include "pkg/operator/network/network_status_writer.h"
#include "pkg/operator/network/network_writes.h"
#include "pkg/operator/network/planned_ranks.h"
#include "pkg/operator/network/previous_network_reader.h"
#include "pkg/operator/network/round_decision.h"
#include "pkg/operator/telemetry/live_links.h"
#include "pkg/operator/telemetry/lossy_cables.h"
#include "pkg/operator/telemetry/network_evidence.h"
#include "pkg/operator/telemetry/network_faults.h"
#include "pkg/operator/telemetry/network_profiles.h"
#include "pkg/operator/telemetry/slow_workers.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::op {

// Receives every plan and the snapshot it was made of, on the planning thread; both are valid
// during the call.
using PlanHandler = std::function<void(const netplan::NetworkPlan&, const plan::Snapshot&)>;
struct NetworkHandlers {
  std::function<void(const NetworkNotice&)> on_notice = {};
  PlanHandler on_plan = {};
  // The job of the gang is to look again: ranks that have no pod have their first plan for its
  // present places, or something is new of what holds the job back.
  std::function<void(const api::Gang&)> wake_job = {};
};

class NetworkController {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::int64_t path_plan_life_ms = 24LL * 3600 * 1000;
    PodWriterOptions writes;
    repac::DampingOptions damping;
    // How long switches need to stop hashing over a lost link.
    std::int64_t reconverge_ms = 3'000;
    crux::StarvationOptions starvation;
    // Simulated events that a round may spend on the search for a better schedule; 0: no search.
    std::int64_t crux_budget = crux::AnytimeSearchOptions().event_budget;
    // Port states from the agents' streams; null: annotations alone count.
    const LiveLinks* live_links = nullptr;
    // Agents are expected to have streams.
    bool agents_have_streams = false;
    // Says which segments are lost as a whole, and is told what holds jobs back; null: neither.
    HostHealth* hosts = nullptr;
    // Gets the plans of ranks that have no pod yet; null: they are not kept.
    PlannedRanks* planned_ranks = nullptr;
  };

  NetworkController(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                    Options options, NetworkHandlers handlers = {});
  RoundReport RunOnce();
  // Writes as much of what was deferred as the rate allows.
  WriteResult WriteDeferred() { return writer_.WriteLeft(clock_.SteadyMs()); }
  bool HasDeferred() const { return writer_.HasLeft(); }
  // The release of pods waits for what was deferred.
  bool HasWaiting() const { return writer_.HasWaiting(); }
  // Drops cached state, since another process may have written: the next round reads the objects.
  void Forget();
  // After a run that threw, which may have broken off anywhere: as Forget, and what was derived
  // from the objects is derived again.
  void Reset();

 private:
  // What a round works on.
  struct Objects {
    std::map<std::string, std::set<std::string>> avoided_hosts;  // held_back_jobs.h
    state::ClusterState cluster;
    GangsByKey gangs;
    std::set<std::string> stopped;  // uids of gangs
    bool gangs_wait = false;        // some gang has no place
    plan::Snapshot snapshot;
  };
  // The Fabric that is planned on (state::UsedFabric); null: none exists.
  static const api::Fabric* FabricOf(const state::ClusterState& cluster);

  // Facts.
  Objects ReadObjects();
  void NoteNetwork(const api::Fabric& fabric, const plan::Snapshot& snapshot);
  void ReadFaults(const api::Fabric& fabric, plan::Snapshot& snapshot, NetworkFacts& facts);
  void ReadProfiles(plan::Snapshot& snapshot, NetworkFacts& facts, RoundReport& report);
  void ReadFacts(Objects& objects, NetworkFacts& facts, RoundReport& report);

  // Decisions (round_decision.h), and what is kept of them for the next round.
  std::vector<GangNetwork> Plan(const Objects& objects, NetworkFacts& facts, RoundReport& report);
  void GuardAgainstStarvation(const Objects& objects, std::vector<GangNetwork>& networks,
                              RoundReport& report);

  // Effects.
  // Segments and domains that are lost as a whole.
  void AssessLosses(const api::Fabric& fabric, const fabric::Places& places,
                    api::FabricStatus& status, RoundReport& report);
  void AssessAgents(const api::Fabric& fabric, api::FabricStatus& status, RoundReport& report);
  void WriteFabrics(const Objects& objects, const NetworkHealth& health, RoundReport& report);
  static void CollectPods(const GangNetwork& network, const api::Gang& gang,
                          const std::map<int, std::shared_ptr<const api::Pod>>& members,
                          const Objects& objects, const NetworkOptions& options,
                          std::vector<PodWrite>& writes, RoundReport& report);
  void WriteGang(const GangNetwork& network, const Objects& objects, const NetworkFacts& facts,
                 const NetworkOptions& options, std::vector<PodWrite>& writes, RoundReport& report);
  using RankPods = std::map<int, std::shared_ptr<const api::Pod>>;
  void KeepPlansOf(const GangNetwork& network, const api::Gang& gang, const RankPods& members,
                   const NetworkOptions& options);
  // Of gangs that lack pods, and of no others.
  void KeepPlans(const Objects& objects, const NetworkFacts& facts,
                 const std::vector<GangNetwork>& networks, const NetworkOptions& options,
                 RoundReport& report);
  // Which jobs one host holds back, for their next looks.
  void AssessHeldBack(const Objects& objects, const NetworkFacts& facts);
  void WritePods(std::vector<PodWrite> writes, RoundReport& report);
  static void AddFindings(const NetworkFacts& facts, RoundReport& report);

  state::ClusterCache& cache_;
  state::SnapshotBuilder builder_;
  const Clock& clock_;
  const Options options_;
  const NetworkHandlers handlers_;

  // The network that ids in what follows mean.
  std::shared_ptr<const fabric::Places> places_;
  std::string fabric_uid_;
  std::string forwarding_;  // api::ForwardingText of the Fabric's spec; empty: not known
  std::int64_t network_generation_ = 0;
  std::uint64_t epoch_ = 0;
  std::int64_t awaits_agents_since_ms_ = -1;  // steady; -1: not yet

  bool knows_previous_ = false;
  netplan::PreviousNetwork previous_;
  netplan::NetworkMemory memory_;
  LoneTransfers transfers_;
  FaultTracker faults_;
  TelemetryChecker evidence_;
  StarvationWatch starvation_;
  SlowWorkers slow_workers_;
  std::map<NamespacedName, int> lifted_;
  NetworkStatusWriter statuses_;
  PodWriter writer_;
};

}  // namespace yardmaster::op
