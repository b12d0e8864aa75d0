// The middle of a pass: moves ranks off lost hosts, those of a lost segment together, and goes through the queue, job by job. Each job
// that fits is committed in its turn by one status write, after the verifier agreed. For each that does
// not fit an event says why, and others may be stopped for it (preemption_decider.h).
//
// A write that conflicts drops its gang until the next pass, which sees the newer version. Thread
// safety: one thread. Lifetimes: everything passed in outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/extender/ledger.h"
#include "pkg/extender/pass.h"
#include "pkg/extender/preemption_decider.h"
#include "pkg/extender/preemption_step.h"
#include "pkg/extender/quarantine.h"
#include "pkg/extender/segment_departure.h"
#include "pkg/plan/planner.h"

namespace yardmaster::extender {

class PlacementStep {
 public:
  using Notify = std::function<void(const ObjectNotice&)>;

  PlacementStep(Ledger& ledger, PreemptionStep& preemption, PreemptionDecider& decider,
                Quarantine& quarantine, const Clock& clock, Notify notify,
                plan::PlanOptions options);
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

  Ledger& ledger_;
  PreemptionStep& preemption_;
  PreemptionDecider& decider_;
  Quarantine& quarantine_;
  const Clock& clock_;
  const Notify notify_;
  plan::PlanOptions options_;
  std::map<NamespacedName, std::int64_t>
      told_ms_;  // when a gang's reasons were last written, steady
};

}  // namespace yardmaster::extender
