// NetworkController plans Crux's numbers and levels and RePaC's source ports for all placed gangs
// together, because they share links, and writes them to Gangs and pods.
//
// A round:
//
//   1. reads a snapshot, and the facts: cables that are down or held back (network_faults.h),
//      whether reports agree with the Fabric (network_evidence.h), measured profiles
//      (network_profiles.h);
//   2. plans from the previous plan, and protects jobs that starve (network_starvation.h);
//   3. hands over the plans of ranks that have no pod yet (planned_ranks.h), so that these pods are
//      created with them;
//   4. writes what has changed (network_writes.h has order and rate), and the Fabric's conditions.
//      A condition that changes its status is an event.
//
// The controller keeps the previous plan between rounds. After its start, or when the Fabric has
// changed, it reads that plan from Gangs and pods (previous_network_reader.h). The next round
// repeats a write that has failed. WriteDeferred sends the writes that the rate limit has deferred,
// without a new plan.
//
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

// Called with every plan and its snapshot, on the planning thread. Both are valid during the call.
using PlanHandler = std::function<void(const netplan::NetworkPlan&, const plan::Snapshot&)>;
struct NetworkHandlers {
  std::function<void(const NetworkNotice&)> on_notice = {};
  PlanHandler on_plan = {};
  // Requests a reconcile of the gang's job: ranks without a pod have their first plan for the
  // present place, or the set of hosts that slow the job down has changed.
  std::function<void(const api::Gang&)> wake_job = {};
};

class NetworkController {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::int64_t path_plan_life_ms = 24LL * 3600 * 1000;
    PodWriterOptions writes;
    repac::DampingOptions damping;
    // Time for which switches still hash over a lost link.
    std::int64_t reconverge_ms = 3'000;
    crux::StarvationOptions starvation;
    // Maximum number of simulated events per round in the search for a better schedule; 0: no
    // search.
    std::int64_t crux_budget = crux::AnytimeSearchOptions().event_budget;
    // Port states from the agents' streams; null: only annotations are used.
    const LiveLinks* live_links = nullptr;
    // Whether agents are expected to have streams.
    bool agents_have_streams = false;
    // Decides which segments are lost, and receives which hosts slow jobs down; null: neither.
    HostHealth* hosts = nullptr;
    // Receives the plans of ranks without a pod; null: they are not kept.
    PlannedRanks* planned_ranks = nullptr;
  };

  NetworkController(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                    Options options, NetworkHandlers handlers = {});
  RoundReport RunOnce();
  // Sends deferred writes as far as the rate limit allows.
  WriteResult WriteDeferred() { return writer_.WriteLeft(clock_.SteadyMs()); }
  bool HasDeferred() const { return writer_.HasLeft(); }
  // Whether pods wait for deferred writes to be released.
  bool HasWaiting() const { return writer_.HasWaiting(); }
  // Drops cached state, because another process may have written. The next round reads the objects.
  void Forget();
  // Like Forget, and also drops what was derived from objects. Called after a round that threw.
  void Reset();

 private:
  // The objects of a round.
  struct Objects {
    std::map<std::string, std::set<std::string>> avoided_hosts;  // held_back_jobs.h
    state::ClusterState cluster;                                 // gangs: placed, without problems
    std::set<std::string> stopped;                               // uids of gangs
    bool gangs_wait = false;                                     // some gang has no place
    plan::Snapshot snapshot;
  };
  // Returns the Fabric in use (state::UsedFabric); null: none exists.
  static const api::Fabric* FabricOf(const state::ClusterState& cluster);

  // Facts.
  Objects ReadObjects();
  void NoteNetwork(const api::Fabric& fabric, const plan::Snapshot& snapshot);
  void ReadFaults(const api::Fabric& fabric, plan::Snapshot& snapshot, NetworkFacts& facts);
  void ReadProfiles(plan::Snapshot& snapshot, NetworkFacts& facts, RoundReport& report);
  void ReadFacts(Objects& objects, NetworkFacts& facts, RoundReport& report);

  // Decisions (round_decision.h), and their results for the next round.
  std::vector<GangNetwork> Plan(const Objects& objects, NetworkFacts& facts, RoundReport& report);
  void GuardAgainstStarvation(const Objects& objects, std::vector<GangNetwork>& networks,
                              RoundReport& report);

  // Sets the segments and domains that are lost.
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
  // Keeps the plans of gangs that lack pods, and drops all others.
  void KeepPlans(const Objects& objects, const NetworkFacts& facts,
                 const std::vector<GangNetwork>& networks, const NetworkOptions& options,
                 RoundReport& report);
  // Passes on which jobs one host slows down.
  void AssessHeldBack(const Objects& objects, const NetworkFacts& facts);
  void WritePods(std::vector<PodWrite> writes, RoundReport& report);
  static void AddFindings(const NetworkFacts& facts, RoundReport& report);

  state::ClusterCache& cache_;
  state::SnapshotBuilder builder_;
  const Clock& clock_;
  const Options options_;
  const NetworkHandlers handlers_;

  // The network to which the ids below belong.
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
