// Maps pods to gangs and ranks for the operator.
//
// A released pod states gang and rank in its slot annotation. A gated pod has no slot: its labels
// and its controller name the Gang (api/rank_resolver.h), whose rank bases number it. So the
// operator can write the network plan on a pod before the one patch that gives it its slot and
// opens its gate. Labels without a controller are ignored, because they may be copied.
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

// Indexes unfinished pods that are not being deleted. A pod with a slot takes precedence over a
// gated pod of the same rank.
PodsByGang IndexPods(const state::ObjectTable<api::Pod>& pods,
                     const state::ObjectTable<api::Gang>& gangs);

// Returns the Gang that a gated pod names; nullopt: the pod is not gated, or names none.
std::optional<NamespacedName> GangBehindGate(const api::Pod& pod);
// True if the pod is gated, has a host in `gang`, and carries no network plan for any plan of the
// gang.
bool WaitsForPlan(const api::Pod& pod, const api::Gang& gang);

}  // namespace yardmaster::op
