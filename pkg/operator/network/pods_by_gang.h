// Which pod is which rank of which gang, as the operator knows it.
//
// A released pod says so itself, in its slot annotation. A pod behind the gate has none: its labels
// and its controller name the Gang (api/rank_resolver.h), whose rank bases number it. So the
// network plan stands on a pod before the one patch that gives it its slot and opens its gate.
// Labels without a controller do not count: they may be copied.
//
// Thread safety: pure functions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/api/pod.h"
#include "pkg/base/namespaced_name.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

// "ns/gang" -> rank -> pod.
using PodsByGang = std::map<std::string, std::map<int, std::shared_ptr<const api::Pod>>>;
using GangsByKey = std::map<NamespacedName, std::shared_ptr<const api::Gang>>;

// Of unfinished pods that are not being deleted. A pod with a slot goes before one behind the gate
// that has the same rank.
PodsByGang IndexPods(const state::ObjectTable<api::Pod>& pods, const GangsByKey& gangs);

// The Gang that a pod behind the gate names; nothing: the pod is not behind the gate, or names
// none.
std::optional<NamespacedName> GangBehindGate(const api::Pod& pod);
// Whether the pod stands behind the gate, has a host in `gang`, and carries no network plan for any
// of the gang's plans.
bool WaitsForPlan(const api::Pod& pod, const api::Gang& gang);

}  // namespace yardmaster::op
