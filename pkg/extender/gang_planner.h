// The extender's planner: one pass over the world gathers pods into gangs, plans those that wait,
// commits each plan in one write, moves ranks off lost hosts, stops gangs for others of higher
// priority, and releases the pods of committed gangs.
//
// Level triggered: a pass looks at everything and does what is missing, so a pass that was cut
// anywhere, by a crash or a lost write, is finished by the next one, in this process or another.
// Nothing is kept between passes but the world cache, and what was derived from it: a snapshot and
// gathered pods are what they would be if they were made from nothing, at the cost of what changed.
//
// Order inside a pass, and why:
//   1. gangs for complete sets of pods          (a Gang without assignments holds nothing)
//   2. decisions to stop gangs are carried on   (what they free is planned in this pass)
//   3. hosts promised twice are taken back      (revocation_step.h), and the View is published
//   4. replacements, then the queue in its order. Each job gets its place (plan, verify, ONE status
//      write), or a decision to stop others for it (one status write, carried on by the next pass;
//      what it is to get is kept from the jobs behind it), or is told why not. View again
//   5. release: pods of committed gangs are pinned and ungated, after the View that lets them in
//   6. taints of promised hosts                 (a second fence; filter keeps the promise already)
// A write that conflicts drops its gang until the next pass, which sees the newer version. A pass
// writes under the hold of the lease under which it began (ledger.h); when that hold ends, it
// writes nothing more, also if this process leads again meanwhile.
//
// Thread safety: one thread calls Pass. Lifetimes: everything passed in outlives the planner.
#pragma once

#include <functional>
#include <memory>

#include "pkg/base/clock.h"
#include "pkg/extender/adoption_step.h"
#include "pkg/extender/budget_reader.h"
#include "pkg/extender/gatherer.h"
#include "pkg/extender/ledger.h"
#include "pkg/extender/pass.h"
#include "pkg/extender/placement_step.h"
#include "pkg/extender/pod_release.h"
#include "pkg/extender/preemption_decider.h"
#include "pkg/extender/preemption_step.h"
#include "pkg/extender/revocation_step.h"
#include "pkg/extender/taint_step.h"
#include "pkg/extender/view.h"
#include "pkg/kube/client.h"
#include "pkg/plan/planner.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

class GangPlanner {
 public:
  struct Options {
    std::size_t release_threads = 8;
    std::size_t eviction_threads = 8;
    plan::PlanOptions plan = {};
    PreemptionDecider::Options preemption = {};
    TaintStep::Options taints = {};
    Ledger::Options ledger = {};
  };
  using Publish = std::function<void(std::shared_ptr<const View>)>;
  using Notify = std::function<void(const Notice&)>;

  GangPlanner(kube::Client& client, state::ClusterCache& cache, const Clock& clock, Fence fence,
              Publish publish, Notify notify, Options options);

  // A follower publishes the View and writes nothing.
  PassReport Pass();

 private:
  void MatchGangs(PassState& pass);
  void CreateGangs(PassState& pass);
  void LoadSnapshot(PassState& pass);
  void PublishView(PassState& pass);
  void FinishGangs(PassState& pass);
  void MarkReleased(PassState& pass);

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Clock& clock_;
  Publish publish_;
  Ledger ledger_;
  Gatherer gatherer_;
  state::SnapshotBuilder builder_;
  BudgetReader budgets_;
  PreemptionStep preemption_;
  PreemptionDecider decider_;
  AdoptionStep adoption_;
  PlacementStep placement_;
  PodRelease release_;
  TaintStep taints_;
  RevocationStep revocation_;
};

}  // namespace yardmaster::extender
