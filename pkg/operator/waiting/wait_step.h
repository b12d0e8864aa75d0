// What is to be done for a job with the label yardmaster.dev/wait, from its object and its Gang.
//
//   the job                 its Gang                 then
//   waits, suspended        none, or without hosts   asks for a place: the Gang says Follow
//                           has hosts                is resumed; the annotation
//                                                    yardmaster.dev/resumed names the Gang
//                           has those that it was    another client suspended it since: the
//                           resumed for              hosts are released, and it waits again
//                           asks for something else  the hosts are given back
//   resumed by us           has hosts, pods come     its pods are released the ordinary way; the
//                                                    Gang says First when they all are
//                           pods do not all come     after PodsComeMs the hosts are given back,
//                           lost its hosts           and the job is suspended again
//   resumed by others       waits for its pods, which stand behind the gate
//   without the label, or   asks                     asks no more; a suspended job stays suspended
//   left to others, or gone
//
// A job has the annotation exactly while this operator keeps it resumed: the patch that suspends
// the job removes it, and a job that another client suspended loses it before it requests a place
// again. So the next step follows from the objects alone, also after a kill or a lost answer.
//
// A Gang of a job that has run says First: from then on its pods wait behind the gate.
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
  kAsk,        // the Gang is to say what the job asks for, with Follow
  kPodsFirst,  // and First: it gets no place before its pods
  kGiveBack,   // and Refused: it gives its hosts back
  kResume,
  kSuspend,
  kForget  // the annotation of a resume that is over
};

struct WaitFacts {
  const WaitingJob* job = nullptr;  // null: there is none
  const api::Gang* gang = nullptr;  // of that name; null: there is none
  bool enabled = true;              // this process lets jobs wait so
  // The Gang says what the job asks for, but for spec.pods; read only of one that has hosts.
  bool gang_is_current = true;
  bool pods_are_there = false;    // all of them; read only when they are late
  std::int64_t asks_from_ms = 0;  // wall time; it lets others go before it until then
  std::int64_t now_ms = 0;        // wall time
};

struct WaitStep {
  WaitAction action = WaitAction::kNone;
  std::int64_t again_ms = 0;  // look again after that time; 0: not by itself
  // An event on the job; empty: none.
  std::string reason = {};
  std::string note = {};
  bool warning = false;
  bool failed = false;  // it counts as a try that came to nothing
};

// Whether the Gang was made for the job.
bool IsGangOf(const api::Gang& gang, const WaitingJob& job);
// Whether the pods of a gang that asks are late: the operator looks whether they are there.
bool PodsAreLate(const api::Gang& gang, std::int64_t now_ms);

WaitStep NextWaitStep(const WaitFacts& facts);

}  // namespace yardmaster::op
