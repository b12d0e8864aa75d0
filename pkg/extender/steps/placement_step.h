// The middle of a pass: moves ranks off lost hosts, those of a lost segment or domain together,
// and goes through the queue, job by job. Each job that fits is committed in its turn (CommitPlan).
// For each that does not fit an event says why, and others may be stopped for it
// (preemption_decider.h).
//
// What a pass has no time for keeps its order, because the queue is planned again in the same
// order. Once the queue is through, the hosts of gangs that are left until then are kept for them.
// No decision that counts on such a promise is taken.
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

  // In this order, on the snapshot. A host of a placed gang is lost: people see it before and while
  // its rank moves.
  static std::vector<Work> MarkDegraded(const PassFacts& facts);
  std::vector<Work> MoveRanks(const PassFacts& facts);
  // Plans the queue for those that follow. A gang that makes it throw is isolated. Throws what is
  // no gang's fault.
  Decision PlanQueue(const PassFacts& facts);
  // Why gangs wait, first of those that were told longest ago.
  std::vector<Work> ReportWaiting(const PassFacts& facts);
  // Promises and decisions, in the order of the queue.
  std::vector<Work> PlaceQueue(const PassFacts& facts);
  // Ordinary pods are kept off what waits for a job (webhook/decisions.h). Only after the queue:
  // gangs that share those hosts, or may fill them meanwhile, have done so.
  Decision ReserveHosts(const PassFacts& facts) const;

 private:
  Decision MoveRanksOf(const PassFacts& facts, plan::JobId job);
  Decision ReplaceRanks(const PassFacts& facts, plan::JobId job, const std::vector<int>& lost);
  // Ranks that wait for a host that was refused to them, where there is one that was not.
  Decision MoveToUntried(const PassFacts& facts, plan::JobId job);
  static Decision Move(const PassFacts& facts, plan::JobId job, placement::GangPlan plan,
                       const std::vector<int>& ranks);
  // All of them or none. Backup hosts are used only where no more than domains are lost and nothing
  // else holds the ranks.
  Decision Evacuate(const PassFacts& facts, plan::JobId job, const SegmentEvacuation& evacuation);
  Decision PlanOnce(const PassFacts& facts);
  // Isolates the gangs of the queue that make a plan throw alone. Throws: there is none.
  Decision IsolateFaulty(const PassFacts& facts, const std::string& error) const;
  Decision Place(const PassFacts& facts, const plan::JobPlan& job);
  Decision StopOthers(const PassFacts& facts, const plan::JobPlan& job);
  // `awaits_hosts`: that come free soon.
  Decision ReportNotPlaced(const PassFacts& facts, plan::JobId job, const placement::GangPlan& plan,
                           bool awaits_hosts = false);
  bool IsNews(const PassFacts& facts, const api::Gang& gang, const api::GangStatus& status);

  const plan::PlanOptions options_;
  const MakePlan make_plan_;
  PreemptionDecider decider_;
  std::map<NamespacedName, std::int64_t>
      reported_ms_;  // when a gang's reasons were written last, steady

  plan::Plan plan_;        // of the queue, in this pass
  bool deciding_ = false;  // no promise was left, and no decision failed
};

}  // namespace yardmaster::extender
