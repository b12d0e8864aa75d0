// Builds the table of `get hosts`: every host of the fabric, what it has free, and why nothing is
// placed there.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/cli/output/overview.h"

namespace yardmaster::cli {

// Returns one row per host, by name. DOMAIN exists if hosts have domains. STATE is the first that
// applies of NotReady, SegmentLost, DomainLost, Quarantined, Cordoned, Tainted, Degraded (NIC ports
// are down), Held (no GPU is free), Backup, Free. `now_ms`: wall time.
Table HostsTable(const state::ClusterState& cluster, std::int64_t now_ms);

// Returns the rows of HostsTable with hosts that differ only in their name combined, in the order
// of the first of them. COUNT follows HOST, which is as HostNames (node_names.h) returns it.
Table GroupedHosts(const Table& hosts);

}  // namespace yardmaster::cli
