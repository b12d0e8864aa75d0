// Decides the next step for a job with the label yardmaster.dev/wait, from the job and its Gang.
//
//   job                     Gang                     step
//   waits, suspended        none, or without hosts   requests a place: spec.pods is Follow
//                           has hosts                resumes the job; the annotation
//                                                    yardmaster.dev/resumed gets the Gang's uid
//                           has the hosts for which  another client has suspended the job since:
//                           the job was resumed      gives the hosts back; the job waits again
//                           requests something else  gives the hosts back
//   resumed by the operator has hosts, pods appear   sets spec.pods to First when the extender has
//                                                    released all pods
//                           pods are missing         after kPodsComeMs gives the hosts back, and
//                                                    suspends the job again
//                           lost its hosts           suspends the job again
//   resumed by another      requests, without hosts  sets spec.pods to First: the pods wait behind
//   client                                           the gate
//   label removed, job of   requests                 withdraws the request; a suspended job stays
//   another controller, or                           suspended
//   job gone
//
// Invariants:
//   - A job has the annotation exactly while this operator keeps it resumed. The patch that
//     suspends the job removes it. A job that another client suspended loses it before it requests
//     a place again. So the next step follows from the objects alone, also after a crash or a lost
//     answer.
//   - The Gang of a job that has run has spec.pods First: from then on its pods wait behind the
//     gate.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/operator/waiting/waiting_job.h"

namespace yardmaster::op {

enum class WaitAction {
  kNone,
  kAsk,        // writes the job's request into the Gang, with Follow
  kPodsFirst,  // writes First: the gang gets no place before its pods exist
  kGiveBack,   // writes Refused: the gang gives its hosts back
  kResume,
  kSuspend,
  kForget  // removes the annotation of an earlier resume
};

struct WaitFacts {
  const WaitingJob* job = nullptr;  // null: none exists
  const api::Gang* gang = nullptr;  // the Gang of that name; null: none exists
  bool enabled = true;              // whether jobs may wait without pods
  // Except for spec.pods the Gang equals the job's request. Set only if it has hosts.
  bool gang_is_current = true;
  bool pods_are_there = false;    // all pods exist; set only when they are late
  std::int64_t asks_from_ms = 0;  // wall time: no request before it
  std::int64_t now_ms = 0;        // wall time
};

struct WaitStep {
  WaitAction action = WaitAction::kNone;
  std::int64_t again_ms = 0;  // decide again after that time; 0: when something changes
  // An event on the job; empty: none.
  std::string reason = {};
  std::string note = {};
  bool warning = false;
  bool failed = false;  // counts as a failed attempt
};

// Whether the Gang was made for the job.
bool IsGangOf(const api::Gang& gang, const WaitingJob& job);
// Whether the pods are late, so that the operator checks whether they exist.
bool PodsAreLate(const api::Gang& gang, std::int64_t now_ms);

WaitStep NextWaitStep(const WaitFacts& facts);

}  // namespace yardmaster::op
