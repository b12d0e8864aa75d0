// What the operator asks of the ledger for a job whose pods follow their place, and what a pod gets
// of the place that the ledger has.
//
// The Gang says of a job what the extender would have read off its pods (pkg/gather), with
// the first worker's pod as admission returned it without making it: workers are made of one
// template, and admission treats them alike. A pod that others have changed all the same is judged
// by the extender's filter, as every pod is.
//
// Jobs whose pods say what only a pod can say have their pods first, behind the gate: volumes,
// which limit the hosts once they exist; gates of others; claims; limits for the wait behind the
// gate; a host that the template names.
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

// As the API server gives it back, with GangPods::kFollow. nullopt: the job's pods come first.
std::optional<api::Gang> GangRequestOf(const api::TrainingJob& job, const api::Pod& first);
// `gang` with what a request says.
api::Gang WithRequest(api::Gang gang, const api::Gang& request);

// The Gang of that name is this job's.
bool IsGangOf(const api::Gang& gang, const api::TrainingJob& job);
// It has hosts, and is not being stopped.
bool HasPlace(const api::Gang& gang);
// No traffic of it leaves its host.
bool IsOnOneHost(const api::Gang& gang);

// Whether a pod of the rank may be made for this host, which the gang has for it.
bool MayBeUsed(const api::TrainingJob& job, const api::Gang& gang, int rank, const api::Node& node,
               std::int64_t now_ms);
// Pods on it have to tolerate its taint.
bool IsBackupHost(const api::Node& node);

// The place of a rank, without its network. nullopt: it has none, or not one that it may be made on
// now; such a rank waits behind the gate, where the extender moves it. `node`: of its host; null:
// there is none.
std::optional<WorkerPlace> PlaceOf(const api::TrainingJob& job, const api::Gang& gang, int rank,
                                   const api::Node* node, std::int64_t now_ms);

}  // namespace yardmaster::op
