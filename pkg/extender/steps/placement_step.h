// The middle of a pass: moves ranks off lost hosts, those of a lost segment together, and goes through the queue, job by job. Each job
// that fits is committed in its turn by one status write, after the verifier agreed. For each that does
// not fit an event says why, and others may be stopped for it (preemption_decider.h).
//
// A write that conflicts drops its gang until the next pass, which sees the newer version. Thread
// safety: one thread. Lifetimes: everything passed in outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pkg/extender/ledger/quarantine.h"
#include "pkg/extender/ledger/segment_departure.h"
#include "pkg/extender/steps/pass_step.h"
#include "pkg/extender/steps/preemption_decider.h"
#include "pkg/extender/steps/preemption_step.h"
#include "pkg/plan/planner.h"

namespace yardmaster::extender {

class PlacementStep : PassStep {
 public:
  PlacementStep(const StepTools& tools, PreemptionStep& preemption, PreemptionDecider& decider,
                Quarantine& quarantine, plan::PlanOptions options)
      : PassStep(tools),
        preemption_(preemption),
        decider_(decider),
        quarantine_(quarantine),
        options_(std::move(options)) {}
  void Run(PassState& pass);

 private:
  void MarkDegraded(PassState& pass);
  void ReplaceLost(PassState& pass);
  void ReplaceRanks(PassState& pass, plan::JobId job, const std::vector<int>& lost);
  // All of them or none.
  void LeaveSegments(PassState& pass, plan::JobId job, const Departure& departure);
  void PlaceWaiting(PassState& pass);
  plan::Plan PlanQueue(PassState& pass);
  bool IsNews(const api::Gang& gang, const api::GangStatus& status);
  void TellNotPlaced(PassState& pass, plan::JobId job, const placement::GangPlan& plan);
  void CountDecision(PassState& pass, const plan::JobState& job, placement::Outcome outcome) const;

  PreemptionStep& preemption_;
  PreemptionDecider& decider_;
  Quarantine& quarantine_;
  plan::PlanOptions options_;
  std::map<NamespacedName, std::int64_t>
      told_ms_;  // when a gang's reasons were last written, steady
};

}  // namespace yardmaster::extender
