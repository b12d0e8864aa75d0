// What the operator observes of a TrainingJob in one reconcile: its members, its policies, and
// earlier decisions. Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/pod.h"
#include "pkg/api/progress_report.h"
#include "pkg/api/training_job.h"
#include "pkg/operator/hosts/host_verdict.h"

namespace yardmaster::op {

// kStarting: the pod runs, and its first container has ended and will restart.
enum class WorkerPhase { kMissing, kGated, kPending, kStarting, kRunning, kSucceeded, kFailed };

struct Worker {
  WorkerPhase phase = WorkerPhase::kMissing;
  bool deleting = false;
  std::string uid;
  std::string host;  // empty: not bound
  std::int64_t attempt = 0;
  // The container can restart in place on request. How often it has ended, how often it had ended
  // when the pod joined its attempt, and the attempt for which it is asked to restart.
  bool restartable = false;
  int ends = 0;
  int attempt_ends = 0;
  std::int64_t restart_generation = 0;
  HostVerdict host_verdict = {};
  bool host_gone = false;          // it has no Node
  bool host_fenced = true;         // pods of the lost host may be removed by force
  std::int64_t fence_wait_ms = 0;  // until the lost host may be fenced
  std::vector<api::ContainerExit> exits = {};
  std::vector<std::string> final_conditions = {};
  std::string checkpoint_request = {};  // the text of its annotation
  std::string other_gate = {};  // the first gate of another controller on the pod; empty: none
  // For a rank without a pod: the host that its Gang keeps for it; empty: none.
  std::string slot_host = {};
  std::optional<api::ProgressReport> progress = {};  // as the agent reports it
  // When the checkpoint was begun that it says is the job's last; 0: it does not.
  std::int64_t last_checkpoint_ms = 0;
};

// Consecutive members of the job.
struct RoleRange {
  std::string name;
  int first = 0;
  int replicas = 0;
  api::OnHostLoss on_failure = api::OnHostLoss::kReplace;
};

// A pod of a rank that the job no longer has: the job grew and found no hosts (api/elastic.h).
struct SurplusPod {
  int rank = 0;
  std::string uid;
  bool deleting = false;
};

struct JobObservation {
  std::vector<Worker> workers;   // all members (api/job_role.h): by rank, then the pods of roles
  std::vector<RoleRange> roles;  // the pods of roles among them; empty: every member has a rank
  std::vector<SurplusPod> surplus = {};
  // If data groups restart by themselves: the group of each rank (workload/data_groups.h). Empty:
  // the job restarts as a whole.
  std::vector<int> group_of_rank = {};
  // While the job grows in place: the number of ranks before; later ranks join. 0: all.
  int earlier_ranks = 0;
  api::RecoveryPolicy policy;
  api::RunPolicy run;
  api::CheckpointPolicy checkpoint;
  std::int64_t checkpoint_ms =
      0;  // wall time of the last checkpoint that the job reported; 0: none
  api::RecoveryState recovery;
  std::int64_t start_ms = 0;  // wall time at which all workers ran first; 0: not yet
  bool placed = false;        // its Gang has hosts for ranks
  bool rented = false;        // its hosts are rented for it: it cannot leave one of them
  // Its pods follow its place and have never all existed at the same time since it got the place.
  bool to_come = false;
  bool moves = false;  // other hosts are promised to it, and it may leave its present ones
  bool ended = false;  // an earlier reconcile found that it succeeded or failed
  // A worker that waited when the job was found stalled is reported to make progress since.
  bool has_gone_on = false;
  // How long all workers have been running since the last incident; 0: they are not.
  std::int64_t running_ms = 0;
  std::int64_t now_ms = 0;  // wall time

  int ranks() const {
    return roles.empty() ? static_cast<int>(workers.size()) : roles.front().first;
  }
  // True if the time lies so far ahead that a process with a wrong clock wrote it. No wait ends by
  // such a time.
  bool IsAhead(std::int64_t time_ms) const { return time_ms > now_ms + 10'000; }
  int ranks_before_growth() const { return earlier_ranks == 0 ? ranks() : earlier_ranks; }
  // True if the member is a rank that joins a running job.
  bool Joins(int member) const { return member >= ranks_before_growth() && member < ranks(); }
  // Returns the role of a member; null if it has a rank.
  const RoleRange* RoleOf(int member) const {
    for (const RoleRange& role : roles) {
      if (member >= role.first && member < role.first + role.replicas) return &role;
    }
    return nullptr;
  }
};

}  // namespace yardmaster::op
