// Decides which pods behind the gate the operator releases with the patch that writes their network
// plan: one write a pod where level and paths come first and pin, slot and gate follow.
//
// All pods of a gang or none. The Gang's status says who goes where; the rule is the extender's
// (state/release_rule.h). A gang is released here when every rank that it was placed with has a
// pod, no pod of it waits behind gates of others, each host may be used, and nothing on the ledger
// stops it. Other gangs get their annotations alone, and the extender, which knows more, looks at
// their pods one by one.
//
// A Gang may change after it was read here: then a pod is released for a place that is not its own
// any more, as by a late patch of the extender itself. Filter refuses that host, and the extender
// replaces the pod. StillHolds keeps this rare.
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

// The release of one pod, and the plan of its gang that it follows from.
struct PlannedRelease {
  api::Pin pin;
  NamespacedName gang;
  std::string gang_uid;
  std::int64_t plan_generation = 0;
};

// uids of the gangs that decisions on the ledger stop. `gangs`: all, also those without a place.
std::set<std::string> StoppedGangs(const state::ObjectTable<api::Gang>& gangs);

// By rank, for the pods behind the gate; empty: the operator releases none of the gang. `pods` are
// those of the gang by rank, as IndexPods has them. O(pods).
std::map<int, PlannedRelease> ReleasesOf(const api::Gang& gang,
                                         const std::map<int, std::shared_ptr<const api::Pod>>& pods,
                                         const std::set<std::string>& stopped,
                                         const plan::Snapshot& snapshot);

// Whether the Gang as it is known now still has the plan. Null: there is no such Gang.
bool StillHolds(const PlannedRelease& release, const api::Gang* gang);

}  // namespace yardmaster::op
