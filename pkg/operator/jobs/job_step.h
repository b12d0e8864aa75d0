// One look at a TrainingJob: what is decided about its failures, which workers to make and to
// remove, and how far it has come. Pure; the controller around it reads the objects, writes the
// decision into the status, then carries the actions out, and calls again when something changes.
//
// A job's pods belong to attempts, counted from 0. A pod is stale when the job's recovery state
// asks for a later attempt of its rank: of all ranks (min_attempt), or of the ranks of the active
// incident. Actions follow from the recovery state and the pods alone, so a decision that is
// written is carried on by any process, wherever the one before it ended:
//   1. A stale pod restarts in place where it can (below). Else it is removed; by force when its
//      host is lost, since no kubelet ends it there.
//      Where data groups are the unit (api::RestartUnit), a decision to restart is about the ranks
//      of those concerned, and is carried out as one that replaces these ranks.
//   2. A rank without a pod gets one of the present attempt, not before the incident's back-off.
//      Where the host has to be fenced first, the pod is removed in the ordinary way until it is.
//   3. After a decision to fail, every pod that has not ended is removed; then the job has failed.
//   4. Before pods are removed for a suspension or a host that is drained, the job is asked for a
//      checkpoint where its policy says how; they stay until it reports one or graceSeconds are
//      over.
//   A suspended job has no pods: suspension makes every pod stale, and none is made before the job
//   is resumed.
// Decisions, made only about pods that are not stale, one at a time:
//   5. A lost host, a failed worker, or a worker removed by others after all have run begins an
//      incident. Failures of one incident count once against the restart budget, lost and removed
//      workers not at all.
//      Where there is none, a job whose workers all run and make no progress (no_progress.h) is
//      one, if its policy says so, at most once an hour.
//   6. The job has succeeded when every worker has, or rank 0 or every pod of a role where that is
//      the policy. A pod that is being deleted or was disrupted has not succeeded, with any exit
//      code.
//      A job to which other hosts are promised begins one, too, once it runs in full, no worker has
//      failed, and it has its checkpoint; its pods are never restarted in place.
//   7. A job that has been running for activeDeadlineSeconds fails.
//   8. Where a pod or the Service is refused before the job has a place, every pod that it has is
//      given back: those of a part hold a quota that another job could use in full. Nothing of a
//      job that has a place is, unless its pods follow the place (api::GangPods) and have never
//      been there all together since: then all that are there are given back, and the place with
//      them.
//
// Ranks that join a job which grows in place (api/elastic.h) are made like others. Until each of
// them runs, the job is assessed by the others: a joining rank without a pod is not an incident,
// and none waits for it.
//
// Pods of roles (api/job_role.h) belong to attempts and incidents as workers do, with the role's
// onFailure in place of the job's policies; they are made once every worker has its host, and are
// in none of the counts of workers. Their failures count against the job's budget and never against
// a host.
//
// In place: the pod stays, and its kubelet restarts the first container (pod_restart.h). A pod that
// has been asked to restart for an attempt belongs to it once that container has ended again. One
// that has ended by itself since it joined its attempt is not asked: it is counted to the new
// attempt as it is. A pod that has not restarted inPlaceSeconds after the incident is recreated.
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
  bool surplus = false;  // a rank that the job does not have
};

// What is written on a pod that restarts in place.
struct InPlace {
  int rank = 0;
  std::string uid;
  std::int64_t attempt = 0;  // that it belongs to
  int attempt_ends = 0;
  std::int64_t restart_generation = 0;
  bool operator==(const InPlace&) const = default;
};

enum class JobOutcome { kRunning, kSucceeded, kFailed };

struct JobStep {
  api::RecoveryState recovery;  // to be written before anything is done
  bool decided = false;         // an incident has begun or has grown
  bool begins_move = false;     // it is that the job leaves its hosts for others
  int removed = -1;         // it is for the removal of this member's pod; -1: for another reason
  std::vector<int> create;  // ranks, ascending
  std::vector<Removal> remove;  // surplus pods, then members by rank
  // What is removed where a pod of `create` or the Service is refused: every pod, of a job without
  // a place or whose pods are still to come; else none.
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
  bool earlier_ranks_run = false;      // every rank runs or has succeeded, but for those that join
  bool all_ranks_run = false;          // those that join, too
  // Running workers are asked for a checkpoint, with this time; 0: they are not.
  std::int64_t request_checkpoint_ms = 0;
  // Pods behind a gate of others, and the first one's gate.
  int gated_by_others = 0;
  std::string other_gate;
  std::string degraded;     // a fault of a host that is only shown; empty: none
  bool held_back = false;   // it is that the host holds the job back
  StallReason no_progress;  // of a job whose workers all run
  std::string held;         // why lost hosts are not acted on; empty: none is held
  std::optional<std::int64_t> look_again_ms;
};

JobStep NextStep(const JobObservation& job);

}  // namespace yardmaster::op
