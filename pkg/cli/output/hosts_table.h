// `get hosts`: every host of the fabric, what it has free, and why nothing is placed there. Pure.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/cli/output/overview.h"

namespace yardmaster::cli {

// One row per host, by name. STATE is the first that holds of NotReady, SegmentLost, Quarantined,
// Cordoned, Tainted, Degraded (NIC ports are down), Held (no GPU is free), Backup, Free. `now_ms`:
// wall time.
Table HostsTable(const state::ClusterState& cluster, std::int64_t now_ms);

}  // namespace yardmaster::cli
