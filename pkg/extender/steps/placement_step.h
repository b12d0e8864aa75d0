// The middle of a pass: moves ranks off lost hosts, those of a lost segment together, and goes through the queue, job by job. Each job
// that fits is committed in its turn by one status write, after the verifier agreed. For each that does
// not fit an event says why, and others may be stopped for it (preemption_decider.h).
//
// A pass commits and decides for `slice_ms`, or for as long as planning the queue took if that is longer, and writes
// for as long why gangs wait. Gangs whose place could not be written the last time have as long for themselves, so that
// writes which take all that time to fail do not keep the others waiting for ever. The rest is for the next pass, which
// should follow without a pause: no number of gangs holds up those that have a place. What is left keeps its order,
// because the queue is planned anew in the same order, and the hosts of gangs that are left until then are kept for them.
//
// A write that conflicts drops its gang until the next pass, which sees the newer version. Thread
// safety: one thread. Lifetimes: everything passed in outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "pkg/extender/ledger/quarantine.h"
#include "pkg/extender/ledger/segment_departure.h"
#include "pkg/extender/steps/pass_step.h"
#include "pkg/extender/steps/preemption_decider.h"
#include "pkg/extender/steps/preemption_step.h"
#include "pkg/extender/steps/work_share.h"
#include "pkg/plan/planner.h"

namespace yardmaster::extender {

class PlacementStep : PassStep {
 public:
  PlacementStep(const StepTools& tools, PreemptionStep& preemption, PreemptionDecider& decider,
                Quarantine& quarantine, plan::PlanOptions options, std::int64_t slice_ms)
      : PassStep(tools),
        preemption_(preemption),
        decider_(decider),
        quarantine_(quarantine),
        options_(std::move(options)),
        slice_ms_(slice_ms) {}
  void Run(PassState& pass);
  // How long the queue took to plan in the last pass.
  std::int64_t planning_ms() const { return planning_ms_; }

 private:
  void MarkDegraded(PassState& pass);
  void ReplaceLost(PassState& pass);
  void ReplaceRanks(PassState& pass, plan::JobId job, const std::vector<int>& lost);
  // All of them or none.
  void LeaveSegments(PassState& pass, plan::JobId job, const Departure& departure);
  void PlaceWaiting(PassState& pass);
  plan::Plan PlanQueue(PassState& pass);
  bool IsNews(const api::Gang& gang, const api::GangStatus& status);
  // The status is written if it is news, and not when `share` is over; null: there is none.
  void TellNotPlaced(PassState& pass, plan::JobId job, const placement::GangPlan& plan,
                     WorkShare* share = nullptr);
  // False: the place is not written.
  bool Place(PassState& pass, const plan::JobPlan& job);
  void CountDecision(PassState& pass, const plan::JobState& job, placement::Outcome outcome) const;

  PreemptionStep& preemption_;
  PreemptionDecider& decider_;
  Quarantine& quarantine_;
  plan::PlanOptions options_;
  const std::int64_t slice_ms_;
  std::int64_t planning_ms_ = 0;
  std::map<NamespacedName, std::int64_t>
      told_ms_;                      // when a gang's reasons were last written, steady
  std::set<NamespacedName> failed_;  // gangs whose place could not be written the last time
};

}  // namespace yardmaster::extender
