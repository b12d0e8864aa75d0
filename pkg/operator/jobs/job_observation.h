// What the operator sees of a TrainingJob in one look: its members, its policies, what was decided
// before. Thread safety: values.
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

// Starting: the pod runs and its container does not, because it has ended and is to restart.
enum class WorkerPhase { kMissing, kGated, kPending, kStarting, kRunning, kSucceeded, kFailed };

struct Worker {
  WorkerPhase phase = WorkerPhase::kMissing;
  bool deleting = false;
  std::string uid;
  std::string host;  // empty: not bound
  std::int64_t attempt = 0;
  // Its container restarts in place when it is asked. How often it has ended, how often it had when
  // the pod joined its attempt, and the attempt that it is asked to restart for.
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
  std::string checkpoint_request = {};  // its annotation, unchanged
  std::string other_gate = {};  // the first gate of others that it waits behind; empty: none
  // Of a rank without a pod: the host that its Gang keeps for it, where the pod ran; empty: none.
  std::string slot_host = {};
  std::optional<api::ProgressReport> progress = {};  // as its agent reports it
};

// Consecutive members of the job.
struct RoleRange {
  std::string name;
  int first = 0;
  int replicas = 0;
  api::OnHostLoss on_failure = api::OnHostLoss::kReplace;
};

// A pod of a rank that the job does not have any more: it grew and found no room (api/elastic.h).
struct SurplusPod {
  int rank = 0;
  std::string uid;
  bool deleting = false;
};

struct JobObservation {
  std::vector<Worker> workers;   // by rank, then the pods of roles: its members (api/job_role.h)
  std::vector<RoleRange> roles;  // where those begin; empty: every member has a rank
  std::vector<SurplusPod> surplus = {};
  // Where data groups restart by themselves, that of each rank (workload/data_groups.h). Empty: the
  // job restarts as a whole.
  std::vector<int> group_of_rank = {};
  // Of a job that grows in place, the ranks that were there before; later ones join. 0: all.
  int earlier_ranks = 0;
  api::RecoveryPolicy policy;
  api::RunPolicy run;
  api::CheckpointPolicy checkpoint;
  std::int64_t checkpoint_ms = 0;  // the last checkpoint that the job has reported; 0: none
  api::RecoveryState recovery;
  std::int64_t start_ms = 0;  // wall time at which all workers ran first; 0: not yet
  bool placed = false;        // its Gang has hosts for ranks
  bool rented = false;        // for it: it cannot leave one of its hosts
  // Its pods follow the place, and have never been there all together since it has it.
  bool to_come = false;
  bool moves = false;  // other hosts are promised to it, and it may leave its own
  bool ended = false;  // an earlier look found that it succeeded or failed
  // How long all workers have been running since the last incident; 0: they are not.
  std::int64_t running_ms = 0;
  std::int64_t now_ms = 0;  // wall time

  int ranks() const {
    return roles.empty() ? static_cast<int>(workers.size()) : roles.front().first;
  }
  // Times in the status that are further ahead were written by a process whose clock was: no wait
  // ends by them.
  bool IsAhead(std::int64_t time_ms) const { return time_ms > now_ms + 10'000; }
  int ranks_before_growth() const { return earlier_ranks == 0 ? ranks() : earlier_ranks; }
  // The rank joins a job that runs.
  bool Joins(int member) const { return member >= ranks_before_growth() && member < ranks(); }
  // The role of a member; null: it has a rank.
  const RoleRange* RoleOf(int member) const {
    for (const RoleRange& role : roles) {
      if (member >= role.first && member < role.first + role.replicas) return &role;
    }
    return nullptr;
  }
};

}  // namespace yardmaster::op
