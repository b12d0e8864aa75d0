// NetworkLoop is the operator's thread for the network: it decides when NetworkController plans and
// when deferred annotations are written.
//
//   changes of objects         a round when they pause, or after a limit (round_schedule.h)
//   gangs without a plan for their place, and pods without a first plan
//                              a round soon, even while other objects change, and after a pause
//                              that is no longer than a round
//   lost links, and gangs that wait for the plan of a rank
//                              a round at once
//   deferred annotations       between rounds, as the write limit allows
//
// While this process does not lead it drops its plan, because another process writes.
//
// Thread safety: Run from one thread. Lifetimes: everything passed in outlives the loop.
#pragma once

#include <cstdint>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "pkg/app/leadership.h"
#include "pkg/app/page_publisher.h"
#include "pkg/app/report_intake.h"
#include "pkg/app/round_schedule.h"
#include "pkg/app/runtime.h"
#include "pkg/base/run_once.h"
#include "pkg/metrics/loop.h"
#include "pkg/operator/network/network_controller.h"
#include "pkg/operator/network/plan_waiters.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::app {

struct NetworkDelays {
  std::int64_t min_ms = 0;  // without another change
  std::int64_t max_ms = 0;  // from the first change
};

class NetworkLoop {
 public:
  NetworkLoop(const NetworkDelays& delays, op::NetworkController& network,
              const state::ClusterCache& cache, const op::PlanWaiters& waiters,
              const ReportIntake& reports, const Leadership& leadership, PagePublisher& page,
              Runtime& runtime);

  // Returns when `stop` is requested.
  void Run(const std::stop_token& stop);

 private:
  // The versions by which a change is detected.
  struct Seen {
    std::uint64_t objects = 0;
    std::uint64_t links = 0;
    op::PlanWaiters::Counts waiting;
  };

  std::int64_t WaitMs() const;
  void Await(const std::stop_token& stop);
  RunResult RunOnce(std::int64_t now_ms);
  RunResult WriteDeferred();
  void WriteLater();
  void LogProblems(const std::vector<std::string>& problems);

  op::NetworkController& network_;
  const state::ClusterCache& cache_;
  const op::PlanWaiters& waiters_;
  const ReportIntake& reports_;
  const Leadership& leadership_;
  PagePublisher& page_;
  Runtime& runtime_;
  metrics::Loop loop_;
  RoundSchedule schedule_;
  Seen seen_;
  std::int64_t write_at_ms_ = 0;  // next time of deferred writes
  std::set<std::string> logged_problems_;
};

}  // namespace yardmaster::app
