// The text of a plan file: what is in force for one pod, for the programs on the node that make it
// so (a verbs or socket shim, a network plugin, a start script). docs/annotations.md describes it.
//
// The text depends on its arguments alone, so a file that already says it need not be written.
// Thread safety: pure functions.
#pragma once

#include <string>

#include "pkg/agent/plans/effective_plan.h"
#include "pkg/agent/plans/pod_input.h"

namespace yardmaster::agent {

inline constexpr int kPlanFileVersion = 1;

std::string EncodePlanFile(const PodInput& pod, const EffectivePlan& plan);

// "Awaiting", "Synced", ...
const char* NameOf(rpc::PlanState state);

}  // namespace yardmaster::agent
