// The pure part of a reconcile of a TrainingJob: decides about its failures, which pods to create
// and to remove, and how far the job has come. The controller reads the objects, writes the
// decision into the status, then carries out the actions, and calls NextStep again when something
// changes.
//
// Attempts: a job's pods belong to attempts, counted from 0. A pod is stale if the job's recovery
// state requires a later attempt of its rank: of all ranks (min_attempt), or of the ranks of the
// active incident. Actions follow only from the recovery state and the pods, so any process can
// continue a decision that was written.
//
// Actions:
//   1. A stale pod restarts in place if it can (below); otherwise it is removed. If its host is
//      lost, it is removed by force, because no kubelet ends it. If data groups are the unit
//      (api::RestartUnit), a decision to restart covers the ranks of the affected groups and is
//      carried out as a replacement of these ranks.
//   2. A rank without a pod gets one of the present attempt, after the back-off of the incident.
//      While a host has still to be fenced, its pod is removed without force.
//   3. After a decision to fail, every unfinished pod is removed; then the job has failed.
//   4. Before pods are removed for a suspension or a drained host, the job is asked for a
//      checkpoint, if its policy says how. The pods stay until it reports one or graceSeconds have
//      passed.
// A suspended job has no pods: suspension makes every pod stale, and none is created until the job
// resumes.
//
// Decisions, one at a time, only about pods that are not stale:
//   5. An incident begins with a lost host, a failed worker, or a worker removed by others after
//      all have run. The failures of one incident cost one restart of the budget; lost and removed
//      workers cost none. Otherwise, if the policy says so and at most once an hour, an incident
//      begins if all workers run and make no progress (no_progress.h).
//   6. The job has succeeded when every worker has; or, by its policy, when rank 0 or every pod of
//      a role has. A pod that is being deleted or was disrupted has not succeeded, whatever its
//      exit code. An incident also begins if other hosts are promised to the job, all workers run,
//      none has failed, and it has its checkpoint; its pods are never restarted in place.
//   7. A job that has run for activeDeadlineSeconds fails.
//   8. If a pod or the Service is refused before the job has a place, all its pods are removed,
//      because they use a quota that another job could use in full. Pods of a placed job are
//      removed only if they follow their place (api::GangPods) and have never all existed at the
//      same time since the job got it; the place is then given back, too.
//
// Growing in place (api/elastic.h): joining ranks are created like others. Until all of them run,
// the job is assessed by the other ranks: a joining rank without a pod is no incident, and none
// waits for it.
//
// Roles (api/job_role.h): pods of roles belong to attempts and incidents as workers do, with the
// role's onFailure in place of the job's policies. They are created once every worker has its host
// and are in no count of workers. Their failures cost restarts of the job's budget and blame no
// host.
//
// In place: the pod stays, and its kubelet restarts the first container (pods/pod_restart.h). A pod
// that was asked to restart for an attempt belongs to it once that container has ended again. If
// the container has ended by itself since the pod joined its attempt, the pod is not asked: it
// joins the new attempt as it is. A pod that has not restarted within inPlaceSeconds of the
// incident is recreated.
//
// Level triggered: the same observation gives the same step. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/training_job.h"
#include "pkg/operator/jobs/job_observation.h"
#include "pkg/operator/jobs/stall_reason.h"

namespace yardmaster::op {

// `rank` here and below: the number of a member.
struct Removal {
  int rank = 0;
  std::string uid;
  bool force = false;    // grace period 0
  bool surplus = false;  // a pod of a rank that the job no longer has
};

// The annotations of a pod that restarts in place.
struct InPlace {
  int rank = 0;
  std::string uid;
  std::int64_t attempt = 0;  // to which the pod belongs
  int attempt_ends = 0;
  std::int64_t restart_generation = 0;
  bool operator==(const InPlace&) const = default;
};

enum class JobOutcome { kRunning, kSucceeded, kFailed };

struct JobStep {
  api::RecoveryState recovery;  // to be written before any action
  bool decided = false;         // an incident has begun or has grown
  bool begins_move = false;     // the incident is a move to other hosts
  int removed = -1;         // the incident is for the removal of this member's pod; -1: it is not
  std::vector<int> create;  // ranks, ascending
  std::vector<Removal> remove;  // surplus pods, then members by rank
  // The pods to remove if a pod of `create` or the Service is refused: every pod, if the job has no
  // place or its pods are still to come; else none.
  std::vector<Removal> give_back;
  std::vector<InPlace> in_place;  // stale pods by rank, then others by rank
  // Lost hosts to fence before their pods are removed by force, by name.
  std::vector<std::string> fence;
  JobOutcome outcome = JobOutcome::kRunning;
  int ready = 0;  // running workers on healthy hosts
  int succeeded = 0;
  std::vector<api::RoleStatus> roles;  // as observed
  int pods = 0;                        // members with a pod in any phase
  int surplus = 0;                     // pods of ranks that the job does not have
  bool earlier_ranks_run = false;      // every rank runs or has succeeded, except those that join
  bool all_ranks_run = false;  // every rank runs or has succeeded, including those that join
  // Running workers are asked for a checkpoint, with this time; 0: they are not asked.
  std::int64_t request_checkpoint_ms = 0;
  // Pods behind a gate of another controller, and the gate of the first one.
  int gated_by_others = 0;
  std::string other_gate;
  std::string degraded;     // a host fault that is only reported; empty: none
  bool held_back = false;   // the fault is that the host slows the job down
  StallReason no_progress;  // set if all workers run and make no progress
  std::string held;         // why lost hosts are not acted on; empty: none is
  std::optional<std::int64_t> look_again_ms;
};

JobStep NextStep(const JobObservation& job);

}  // namespace yardmaster::op
