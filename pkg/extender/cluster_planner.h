// The extender's planner: one pass over the cluster's state gathers pods into gangs, plans those that wait,
// commits each plan in one write, moves ranks off lost hosts, stops gangs for others of higher
// priority, and releases the pods of committed gangs.
//
// Level triggered: a pass looks at everything and does what is missing, so a pass that was cut
// anywhere, by a crash or a lost write, is finished by the next one, in this process or another.
// The planner keeps between passes what is derived from the cluster's state (a snapshot and gathered
// pods equal those of a build from nothing, at the cost of what changed), and when it last tried, asked
// or reported something. A new process that lacks the latter repeats some of it and loses nothing.
//
// Order inside a pass, and why:
//   1. hosts of gangs without pods go back (owner_step.h, gang_cleanup.h); gangs are made for complete sets of
//      pods (a Gang without assignments holds nothing), and a Gang without hosts follows its pods when
//      they change; placed gangs take the size that their owner wants (resize_step.h); plans that exist
//      already are taken over (adoption_step.h); what waited for longer than its limit is released
//      (gate_step.h). A pass makes and changes Gangs for `write_slice_ms`, or for as long as the queue last took to
//      plan if that is longer; the rest is for the next pass, which should follow without a pause, and no gang of
//      lower priority is placed before it
//   2. decisions to stop gangs are carried on   (what they free is planned in this pass), and pods
//      released under a plan that no longer holds are replaced (stale_release_step.h)
//   3. hosts promised twice are taken back      (revocation_step.h), and the View is published
//   4. replacements, then the queue in its order. Each job gets its place (plan, verify, ONE status
//      write), or a decision to stop others for it (one status write, carried on by the next pass;
//      what it is to get is kept from the jobs behind it), or an event says why not. After the queue,
//      gangs that grow get hosts for their new ranks (resize_step.h)
//   5. released pods that kube-scheduler cannot bind are replaced (unschedulable_step.h). View again
//   6. release: pods of committed gangs that have their network plan are pinned and ungated, after the
//      View that lets them in
//   7. taints of promised hosts                 (a second fence; filter keeps the promise already)
// A gang whose handling throws is put in quarantine (quarantine.h) and the pass goes on without it.
// A write that conflicts drops its gang until the next pass, which sees the newer version. A pass
// writes under the hold of the lease under which it began (ledger.h); when that hold ends, it
// writes nothing more, also if this process leads again meanwhile.
//
// Thread safety: one thread calls Pass. Lifetimes: everything passed in outlives the planner.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/extender/gather/gatherer.h"
#include "pkg/extender/ledger/ask_times.h"
#include "pkg/extender/ledger/gang_backoff.h"
#include "pkg/extender/ledger/ledger.h"
#include "pkg/extender/ledger/pass.h"
#include "pkg/extender/ledger/quarantine.h"
#include "pkg/extender/steps/adoption_step.h"
#include "pkg/extender/steps/budget_reader.h"
#include "pkg/extender/steps/gang_cleanup.h"
#include "pkg/extender/steps/gate_step.h"
#include "pkg/extender/steps/owner_step.h"
#include "pkg/extender/steps/placement_step.h"
#include "pkg/extender/steps/pod_release.h"
#include "pkg/extender/steps/preemption_decider.h"
#include "pkg/extender/steps/preemption_step.h"
#include "pkg/extender/steps/resize_step.h"
#include "pkg/extender/steps/revocation_step.h"
#include "pkg/extender/steps/stale_release_step.h"
#include "pkg/extender/steps/taint_step.h"
#include "pkg/extender/steps/unplaced_size.h"
#include "pkg/extender/steps/unschedulable_step.h"
#include "pkg/extender/steps/work_share.h"
#include "pkg/extender/webhook/view.h"
#include "pkg/kube/client.h"
#include "pkg/plan/planner.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

class ClusterPlanner {
 public:
  struct Options {
    std::size_t release_threads = 8;
    std::int64_t release_slice_ms = 250;  // pod_release.h
    std::size_t eviction_threads = 8;
    std::int64_t write_slice_ms = 250;  // of making Gangs, and of placing them
    plan::PlanOptions plan = {};
    PreemptionDecider::Options preemption = {};
    TaintStep::Options taints = {};
    Ledger::Options ledger = {};
    StaleReleaseStep::Options stale_releases = {};
    GateStep::Options gates = {};
    std::int64_t network_wait_ms = 0;  // network_wait.h
  };
  using Publish = std::function<void(std::shared_ptr<const View>)>;

  ClusterPlanner(kube::Client& client, state::ClusterCache& cache, const Clock& clock, Fence fence,
                 Publish publish, Notify notify, Options options);

  // A follower publishes the View and writes nothing.
  PassReport Pass();

 private:
  // What the Gangs without hosts were last compared with.
  struct Compared {
    std::shared_ptr<const GatheredGang> pods;  // null: to be compared again
    bool agrees = false;                       // the Gang says what its pods say
    std::int64_t since_ms = 0;  // when that became due, or its write was tried last; steady
    bool failed = false;        // its write
  };
  using TrainingJobs = std::map<NamespacedName, const api::TrainingJob*>;

  void RunPass(PassState& pass);
  std::vector<PodProblem> MatchGangs(PassState& pass);
  void ReportProblems(PassState& pass, std::vector<PodProblem> problems);
  void CreateGangs(PassState& pass);
  std::vector<NamespacedName> GangsToCompare(const PassState& pass, const TrainingJobs& jobs);
  bool WriteGang(PassState& pass, const NamespacedName& key, const api::TrainingJob* job,
                 WorkShare& share);
  std::optional<int> GroupSize(PassState& pass, const NamespacedName& key,
                               const GatheredGang& pods);
  void ReportNeverWhole(PassState& pass, const NamespacedName& key, const std::string& why);
  void LoadSnapshot(PassState& pass);
  state::ClusterState PlanningInput(const PassState& pass) const;
  void BuildSnapshot(PassState& pass);
  void PublishView(PassState& pass);
  void NoteOldestGatedPod(PassState& pass) const;
  void MarkReleased(PassState& pass);

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Clock& clock_;
  Publish publish_;
  const Notify notify_;
  Ledger ledger_;
  const StepTools tools_;
  Quarantine quarantine_;
  GangBackoff backoff_;
  Gatherer gatherer_{Orphans::kRefuse};
  state::SnapshotBuilder builder_;
  BudgetReader budgets_;
  PreemptionStep preemption_;
  PreemptionDecider decider_;
  OwnerStep owners_;
  GangCleanup cleanup_;
  AdoptionStep adoption_;
  GateStep gates_;
  PlacementStep placement_;
  UnplacedSize unplaced_size_;
  ResizeStep resize_;
  StaleReleaseStep stale_releases_;
  UnschedulableStep unschedulable_;
  PodRelease release_;
  TaintStep taints_;
  RevocationStep revocation_;
  const std::int64_t write_slice_ms_;
  std::map<NamespacedName, Compared> compared_;
  // Of the core PodGroups that pods of gangs without hosts name, and when each is read again.
  AskTimes group_times_;
  std::map<NamespacedName, std::optional<int>> group_sizes_;  // by gang
  std::map<NamespacedName, std::string> never_whole_;         // what was reported of gangs
  std::map<std::string, std::string> reported_;               // problems of pods, by uid
};

}  // namespace yardmaster::extender
