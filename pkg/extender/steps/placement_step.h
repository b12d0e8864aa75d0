// The planning step of a pass. It moves ranks off lost hosts (all ranks of a lost segment or domain
// together), then plans the queue and commits each job that fits in its turn (CommitPlan). For each
// job that does not fit it writes an event with the reason, and may decide to stop other gangs
// (preemption_decider.h).
//
// If a pass runs out of time, the rest of the queue keeps its order, because the next pass plans
// the same queue. For the rest of the pass the hosts of gangs that were planned and not committed
// are reserved, and no later preemption is decided, because it would count on commits that did not
// happen.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pkg/extender/effects/effect.h"
#include "pkg/extender/facts/segment_evacuation.h"
#include "pkg/extender/steps/preemption_decider.h"
#include "pkg/plan/planner.h"

namespace yardmaster::extender {

class PlacementStep {
 public:
  PlacementStep(plan::PlanOptions options, PreemptionDecider::Options preemption,
                MakePlan make_plan = plan::MakePlan)
      : options_(options), make_plan_(make_plan), decider_(preemption, std::move(make_plan)) {}

  // The calls of a pass, in this order, all on the snapshot.
  //
  // Sets the condition Degraded of placed gangs with a lost host, before and while their ranks
  // move.
  static std::vector<Work> MarkDegraded(const PassFacts& facts);
  std::vector<Work> MoveRanks(const PassFacts& facts);
  // Plans the queue for the calls below. Isolates a gang that makes the planner throw; rethrows if
  // no single gang does.
  Decision PlanQueue(const PassFacts& facts);
  // Reports why gangs wait: first gangs that have not been reported, then those reported longest
  // ago.
  std::vector<Work> ReportWaiting(const PassFacts& facts);
  // Commits places and preemption decisions, in the order of the queue.
  std::vector<Work> PlaceQueue(const PassFacts& facts);
  // Reserves hosts for jobs that wait, so that filter keeps ordinary pods off them
  // (webhook/decisions.h). Runs after the queue, whose gangs may share or fill these hosts.
  Decision ReserveHosts(const PassFacts& facts) const;

 private:
  Decision MoveRanksOf(const PassFacts& facts, plan::JobId job);
  Decision ReplaceRanks(const PassFacts& facts, plan::JobId job, const std::vector<int>& lost);
  // Moves gated ranks off a host that kube-scheduler refused earlier, if an untried host exists.
  Decision MoveToUntried(const PassFacts& facts, plan::JobId job);
  static Decision Move(const PassFacts& facts, plan::JobId job, placement::GangPlan plan,
                       const std::vector<int>& ranks);
  // Moves all ranks of the evacuation or none. Uses backup hosts only if no whole segment is lost.
  Decision Evacuate(const PassFacts& facts, plan::JobId job, const SegmentEvacuation& evacuation);
  Decision PlanOnce(const PassFacts& facts);
  // Isolates each gang of the queue that makes the planner throw when it is planned alone. Throws
  // if there is none.
  Decision IsolateFaulty(const PassFacts& facts, const std::string& error) const;
  Decision Place(const PassFacts& facts, const plan::JobPlan& job);
  Decision StopOthers(const PassFacts& facts, const plan::JobPlan& job);
  // `awaits_hosts`: the gang waits for hosts that will soon be free.
  Decision ReportNotPlaced(const PassFacts& facts, plan::JobId job, const placement::GangPlan& plan,
                           bool awaits_hosts = false);
  bool IsNews(const PassFacts& facts, const api::Gang& gang, const api::GangStatus& status);

  const plan::PlanOptions options_;
  const MakePlan make_plan_;
  PreemptionDecider decider_;
  std::map<NamespacedName, std::int64_t>
      reported_ms_;  // steady clock: when a gang's reasons were written last

  plan::Plan plan_;        // of the queue, made in this pass
  bool deciding_ = false;  // every commit and decision of this pass so far was written
};

}  // namespace yardmaster::extender
