// Decides which gated pods the operator releases with the patch that writes their network plan. The
// patch writes level and paths, the pin and the slot, and removes the gate in one request.
//
// The operator releases all pods of a gang or none, by the same rule as the extender
// (state/release_rule.h): the Gang's status assigns each rank its host. All of these must hold:
//   - every rank that the gang was placed with has a pod;
//   - no pod of it waits behind a gate of another controller;
//   - each of its hosts may be used;
//   - no preemption stops the gang.
// For other gangs the operator writes the annotations alone, and the extender decides pod by pod.
//
// Race: a Gang may change after it was read here. A pod is then released to a place that is no
// longer its own, as by a late patch of the extender itself. The extender's filter refuses that
// host, and the extender replaces the pod. StillHolds makes this rare.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/api/pin_patch.h"
#include "pkg/api/pod.h"
#include "pkg/base/namespaced_name.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

// The release of one pod, and the plan of its gang from which it follows.
struct PlannedRelease {
  api::Pin pin;
  NamespacedName gang;
  std::string gang_uid;
  std::int64_t plan_generation = 0;
};

// Returns the uids of the gangs that preemptions stop. `gangs`: all gangs, including those without
// a place.
std::set<std::string> StoppedGangs(const state::ObjectTable<api::Gang>& gangs);

// Returns the releases of the gated pods, by rank; empty: the operator releases none of the gang.
// `pods`: those of the gang by rank, as IndexPods returns them. O(pods).
std::map<int, PlannedRelease> ReleasesOf(const api::Gang& gang,
                                         const std::map<int, std::shared_ptr<const api::Pod>>& pods,
                                         const std::set<std::string>& stopped,
                                         const plan::Snapshot& snapshot);

// True if the Gang, as it is known now, still has the plan. `gang` null: no such Gang exists.
bool StillHolds(const PlannedRelease& release, const api::Gang* gang);

}  // namespace yardmaster::op
