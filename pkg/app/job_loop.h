// The operator's workers: they take the turns of TrainingJobs and decide when each job has its next
// one.
//
//   the job said when       then
//   pods are left to make   a background turn (op::JobTurn), unless they wait for their hosts
//   its pods were refused   as op::RefusalPacer says; its turns, the first of them at once, make no
//                           pods meanwhile and take back what it has
//   the turn failed         after 50 ms, which doubles with each failure up to 30 s
//
// In a namespace where some job was refused, new jobs take turns with it in the same way.
// What a job's turn throws is a failure of that job: it is counted, logged, an event of the job,
// and the other jobs go on. While this process does not lead, jobs wait.
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
    // Decides whether the job may have pods by the quota of its queue. The value: as below. Empty:
    // no job is in a queue.
    std::function<absl::StatusOr<std::optional<std::int64_t>>(const std::string& key)> queue = {};
    // Decides what the job rents. The value: look again after that many milliseconds.
    std::function<absl::StatusOr<std::optional<std::int64_t>>(const std::string& key)> rent;
    std::function<absl::StatusOr<op::TurnResult>(const std::string& key, op::JobTurn turn)> run;
    std::function<void(const op::JobNotice& notice)> notify;
    std::function<bool()> leads;
    std::function<void()>
        on_follower;  // for each job that waits because this process does not lead
  };

  JobLoop(const state::ClusterCache& cache, const Clock& clock, metrics::Registry& registry,
          const metrics::Logger& log, Handlers handlers);

  // The job ("namespace/name") may have something to do.
  void Add(const std::string& key) { queue_.Add(key); }
  // So it has, and hosts stand empty meanwhile: before other jobs of its namespace.
  void AddFirst(const std::string& key) { queue_.AddFirst(key); }
  // Pods of the namespace have ended: there may be room for jobs that were refused. `freed_by`: the
  // key of the job that they are of; empty: of none.
  void RoomMayHaveCome(const std::string& namespace_name, const std::string& freed_by);
  // Takes turns until ShutDown.
  void Run();
  void ShutDown() { queue_.ShutDown(); }
  std::size_t Depth() const { return queue_.Depth(); }

  // One turn of one job, and when the next one is.
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
