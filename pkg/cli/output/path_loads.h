// Reports how evenly planned paths use the links between switches, for `plan --paths`.
//
// Thread safety: pure functions.
#pragma once

#include "nlohmann/json_fwd.hpp"

#include "pkg/netplan/network_plan.h"

namespace yardmaster::cli {

// Returns one entry for each ToR and direction that flows of `plan.paths` use: the switch, whether
// the flows are inbound, its links that are up, the flows, the maximum on one link ("fullest"), the
// lowest possible maximum ("bound"), and every link with its flows ("loads"). REQUIRES:
// snapshot.network.
nlohmann::json UplinksJson(const plan::Snapshot& snapshot, const netplan::NetworkPlan& plan);

}  // namespace yardmaster::cli
