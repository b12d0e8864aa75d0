// The extender's planner: one pass over the cluster's state gathers pods into gangs, plans those
// that wait, commits each plan in one write, moves ranks off lost hosts, stops gangs for others of
// higher priority, and releases the pods of committed gangs.
//
// Level triggered: a pass looks at everything and does what is missing, so a pass that was cut
// anywhere, by a crash or a lost write, is finished by the next one, in this process or another.
// The planner keeps between passes what is derived from the cluster's state (a snapshot and
// gathered pods equal those of a build from nothing, at the cost of what changed), and when it last
// tried, asked or reported something. A new process that lacks the latter repeats some of it and
// loses nothing.
//
// Order inside a pass, and why:
//   1. hosts of gangs without pods go back (owner_step.h, gang_cleanup.h); pods that no controller
//      numbers get their ranks (number_step.h); gangs are made for
//      complete sets of pods (a Gang without assignments holds nothing), and a Gang without hosts
//      follows its pods when they change (gang_spec_step.h); of sets that stay incomplete it is
//      said what they lack (incomplete_step.h); placed gangs take the size that their owner wants
//      (resize_step.h); plans that exist already are taken over (adoption_step.h); what
//      waited for longer than its limit is released (gate_step.h)
//   2. decisions to stop gangs are carried on   (what they free is planned in this pass), and pods
//      released under a plan that no longer holds are replaced (stale_release_step.h)
//   3. hosts promised twice are taken back      (revocation_step.h), and the View is published
//   4. replacements, then the queue in its order. Each job gets its place (plan, verify, ONE status
//      write), or a decision to stop others for it (one status write, carried on by the next pass;
//      what it is to get is kept from the jobs behind it), or an event says why not. After the
//      queue, gangs that grow get hosts for their new ranks (resize_step.h)
//   5. released pods that kube-scheduler cannot bind are replaced (unschedulable_step.h). View
//      again
//   6. release: pods of committed gangs that have their network plan are pinned and ungated, after
//      the View that lets them in
//   7. taints of promised hosts                 (a second fence; filter keeps the promise already)
// Each step decides from the facts of the pass (facts/pass_facts.h) and returns effects
// (effects/effect.h); the executor carries them out, and the facts follow (effects/executor.h).
// Making gangs, placing them and saying why they wait have `write_slice_ms` each, or as long as the
// queue took to plan if that is longer. A write that conflicts drops its gang until the next pass,
// which sees the newer version.
//
// Thread safety: one thread calls RunOnce. Lifetimes: everything passed in outlives the planner.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/extender/effects/executor.h"
#include "pkg/extender/ledger/ledger.h"
#include "pkg/extender/ledger/pass_report.h"
#include "pkg/extender/steps/adoption_step.h"
#include "pkg/extender/steps/gang_cleanup.h"
#include "pkg/extender/steps/gang_spec_step.h"
#include "pkg/extender/steps/gate_step.h"
#include "pkg/extender/steps/incomplete_step.h"
#include "pkg/extender/steps/number_step.h"
#include "pkg/extender/steps/placement_step.h"
#include "pkg/extender/steps/pod_release.h"
#include "pkg/extender/steps/preemption_step.h"
#include "pkg/extender/steps/resize_step.h"
#include "pkg/extender/steps/stale_release_step.h"
#include "pkg/extender/steps/taint_step.h"
#include "pkg/extender/steps/unschedulable_step.h"
#include "pkg/extender/steps/volume_step.h"
#include "pkg/extender/webhook/view.h"
#include "pkg/gather/gatherer.h"
#include "pkg/kube/client.h"
#include "pkg/plan/planner.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

class ClusterPlanner {
 public:
  struct Options {
    std::size_t eviction_threads = 8;
    // Of one pass: releasing pods; each part of gate_step.h; making Gangs, and placing them.
    std::int64_t release_slice_ms = 250;
    std::int64_t gate_slice_ms = 250;
    std::int64_t write_slice_ms = 250;
    plan::PlanOptions plan = {};
    // That a gang may wait for hosts which come free soon (plan/leaving_hosts.h); 0: not at all.
    std::int64_t await_limit_ms = 0;
    PreemptionDecider::Options preemption = {};
    TaintStep::Options taints = {};
    Ledger::Options ledger = {};
    StaleReleaseStep::Options stale_releases = {};
    GateStep::Options gates = {};
    PodRelease::Options release = {};
    gather::Ungated ungated = gather::Ungated::kGather;
  };
  using Publish = std::function<void(std::shared_ptr<const View>)>;

  ClusterPlanner(kube::Client& client, state::ClusterCache& cache, const Clock& clock, Fence fence,
                 Publish publish, Notify notify, Options options);

  // A follower publishes the View and writes nothing.
  PassReport RunOnce();

 private:
  void RunPass();
  PassFacts GatherFacts();
  // Steps before the snapshot, and after it.
  void TakeStock();
  void Place();
  void ReportProblems();
  void PublishView();
  // The view in which gangs have the places that were committed since the last one: the operator
  // may release their pods at once.
  void PublishCommits();
  // With a view between them while gangs are placed.
  std::vector<Work> PublishingCommits(std::vector<Work> works);
  void NoteOldestGatedPod();

  state::ClusterCache& cache_;
  const Publish publish_;
  const Notify notify_;
  const Options options_;
  Executor executor_;
  gather::Gatherer gatherer_{gather::Orphans::kRefuse, options_.ungated};
  GangCleanup cleanup_;
  NumberStep numbers_{gatherer_};
  GangSpecStep specs_{gatherer_};
  VolumeStep volumes_;
  IncompleteStep incomplete_{specs_};
  ResizeStep resize_;
  AdoptionStep adoption_;
  GateStep gates_;
  StaleReleaseStep stale_releases_;
  PlacementStep placement_;
  UnschedulableStep unschedulable_;
  PodRelease release_;
  TaintStep taints_;
  int published_commits_ = 0;                    // of this pass, that are in the view
  std::int64_t published_ms_ = 0;                // the view, steady
  std::int64_t queue_ms_ = 0;                    // how long the queue took to plan in the last pass
  std::map<std::string, std::string> reported_;  // problems of pods, by uid
};

}  // namespace yardmaster::extender
