// JobLoop runs the operator's workers: they reconcile TrainingJobs ("turns"), and the loop decides
// when each job has its next turn.
//
//   result of the turn       next turn
//   pods are left to create  a background turn (op::JobTurn), unless they wait for their hosts
//   pods were refused        as op::RefusalPacer decides; until then the job's turns, of which the
//                            first follows at once, create no pods and remove those it has
//   the turn failed          after 50 ms, doubling with each failure up to 30 s
//
//   - In a namespace in which a job was refused, new jobs are paced in the same way.
//   - An exception in a job's turn is a failure of that job: it is counted, logged and an event of
//     the job. Other jobs continue.
//   - While this process does not lead, jobs wait.
//
// Thread safety: all methods from any thread; Run from several at once, which never have the same
// job. Lifetimes: everything passed in outlives the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "pkg/base/clock.h"
#include "pkg/base/run_once.h"
#include "pkg/base/work_queue.h"
#include "pkg/metrics/loop.h"
#include "pkg/operator/job_notice.h"
#include "pkg/operator/jobs/job_controller.h"
#include "pkg/operator/jobs/refusal_pacer.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::app {

class JobLoop {
 public:
  struct Handlers {
    // Decides whether the quota of its queue lets the job have pods. Returns as `rent`. Empty: no
    // job is in a queue.
    std::function<absl::StatusOr<std::optional<std::int64_t>>(const std::string& key)> queue = {};
    // Decides what the job rents. Returns after how many milliseconds to call it again; nullopt:
    // after a change.
    std::function<absl::StatusOr<std::optional<std::int64_t>>(const std::string& key)> rent;
    std::function<absl::StatusOr<op::TurnResult>(const std::string& key, op::JobTurn turn)> run;
    std::function<void(const op::JobNotice& notice)> notify;
    std::function<bool()> leads;
    std::function<void()>
        on_follower;  // for each job that waits because this process does not lead
  };

  JobLoop(const state::ClusterCache& cache, const Clock& clock, metrics::Registry& registry,
          const metrics::Logger& log, Handlers handlers);

  // The job ("namespace/name") may have work to do.
  void Add(const std::string& key) { queue_.Add(key); }
  // Like Add, for a job whose hosts are idle meanwhile: before other jobs of its namespace.
  void AddFirst(const std::string& key) { queue_.AddFirst(key); }
  // Pods of the namespace have ended, so that jobs that were refused may fit. `freed_by`: the key
  // of their job; empty: none.
  void RoomMayHaveCome(const std::string& namespace_name, const std::string& freed_by);
  // Runs turns until ShutDown.
  void Run();
  void ShutDown() { queue_.ShutDown(); }
  std::size_t Depth() const { return queue_.Depth(); }

  // Runs one turn of one job. The result says when the next one is.
  RunResult RunOnce(const std::string& key, op::JobTurn turn);

 private:
  RunResult TakeTurn(const std::string& key, op::JobTurn turn);
  bool SaysRefused(const std::string& key) const;
  void ReportDefect(const RunFailure& failure) const;

  const state::ClusterCache& cache_;
  const Handlers handlers_;
  WorkQueue queue_;
  op::RefusalPacer refusals_;
  metrics::Loop loop_;
};

}  // namespace yardmaster::app
