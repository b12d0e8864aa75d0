// Builds the Gang by which the operator requests a place for a job whose pods follow their place,
// and reads from the Gang what a pod gets.
//
// The Gang contains what the extender would have read from the job's pods (pkg/gather). The
// operator builds it from the first worker's pod as admission returned it in a dry run: all workers
// have one template, and admission treats them alike. If a webhook changes a pod nevertheless, the
// extender's filter checks it, as it checks every pod.
//
// The pods of a job come first, behind the gate, if they say what only a pod can say:
//   - volumes, which limit the hosts once they exist;
//   - gates of other controllers;
//   - resource claims;
//   - limits for the wait behind the gate;
//   - a host or a core PodGroup in the template, or requests that cannot be read.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "pkg/api/gang.h"
#include "pkg/api/node.h"
#include "pkg/api/pod.h"
#include "pkg/api/training_job.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {

// Returns the Gang as the API server would return it, with GangPods::kFollow. nullopt: the job's
// pods come first.
std::optional<api::Gang> GangRequestOf(const api::TrainingJob& job, const api::Pod& first);
// Returns `gang` with the spec of `request`.
api::Gang WithRequest(api::Gang gang, const api::Gang& request);

// True if the Gang belongs to this job.
bool IsGangOf(const api::Gang& gang, const api::TrainingJob& job);
// True if the gang has hosts and is not being stopped.
bool HasPlace(const api::Gang& gang);
// True if all ranks of the gang are on one host, so that none of its traffic leaves it.
bool IsOnOneHost(const api::Gang& gang);

// True if a pod of the rank may be created for this host, which the gang has for it: the Node is
// ready, schedulable and healthy, the job does not avoid it, and it is not refused to the rank.
bool MayBeUsed(const api::TrainingJob& job, const api::Gang& gang, int rank, const api::Node& node,
               std::int64_t now_ms);
// True if pods on the host have to tolerate the backup taint.
bool IsBackupHost(const api::Node& node);

// Returns the place of a rank, without its network plan. nullopt if it has none, or if its pod may
// not be created there now: the pod then waits behind the gate, where the extender moves the rank.
// `node`: the Node of its host; null: none exists.
std::optional<WorkerPlace> PlaceOf(const api::TrainingJob& job, const api::Gang& gang, int rank,
                                   const api::Node* node, std::int64_t now_ms);

}  // namespace yardmaster::op
