// The way of a job from apply to running, and its recoveries, as spans: when each step began and
// ended by the job's objects.
//
//   start                from joining the queue until every worker runs; the others are inside it
//     queued             until the gang was committed
//     planned            the pass of the planner that committed it
//     committed          an instant: the gang has its hosts
//     network planned    until the gang's levels and paths were known
//     pods created       from the first pod to the last
//     bound              until the last pod had its node
//     running            until the last pod's container had begun
//   recovery             from an incident until every worker runs again
//
// A gang that gave its hosts back and is placed again has a start of its own in the same trace: the
// time of its commit distinguishes the spans of a place. Times are those of the objects, in whole
// seconds as the API server stores them, except those of the pass. A step whose times are not
// known, or that is not over, has no span.
//
// Thread safety: pure functions. Complexity: O(pods).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/api/pod.h"
#include "pkg/api/training_job.h"
#include "pkg/trace/span.h"

namespace yardmaster::trace {

// The uid whose trace a gang's spans are in: of the owner, where its pods know it, else of the
// object with which the Gang comes and goes.
const std::string& TracedUid(const api::Gang& gang);

// When a gang that has no hosts joined the queue. `job`: its TrainingJob, or null.
std::int64_t QueuedSince(const api::Gang& gang, const api::TrainingJob* job);

struct PassTimes {
  std::int64_t began_ms = 0;
  std::int64_t ended_ms = 0;
};

// Of a committed gang: queued, planned, committed. `since_ms` is when it joined the queue; 0: not
// known. `pass`: the one that committed it, or nothing.
std::vector<Span> PlacementSpans(const api::Gang& gang, std::int64_t since_ms,
                                 const std::optional<PassTimes>& pass);

// A rank's host was lost from `lost_ms` until `whole_ms`.
Span LostHostSpan(const api::Gang& gang, std::int64_t lost_ms, std::int64_t whole_ms);

struct StartFacts {
  const api::Gang& gang;              // committed
  const api::TrainingJob* job;        // or null
  std::vector<const api::Pod*> pods;  // of the gang, without those that are being deleted
  std::int64_t since_ms = 0;          // as in PlacementSpans
};
// From network planned on, those that are over, and start once all of them are.
std::vector<Span> StartSpans(const StartFacts& facts);
inline bool IsStart(const Span& span) { return span.name == "start"; }

// `name_of`: the word for a cause.
Span RecoverySpan(const api::TrainingJob& job, const api::Incident& incident,
                  const char* (*name_of)(api::IncidentCause));

}  // namespace yardmaster::trace
