// `get hosts`: every host of the fabric, what it has free, and why nothing is placed there. Pure.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/cli/output/overview.h"

namespace yardmaster::cli {

// One row per host, by name. DOMAIN is there where hosts have domains. STATE is the first that
// holds of NotReady, SegmentLost, DomainLost, Quarantined, Cordoned, Tainted, Degraded (NIC ports
// are down), Held (no GPU is free), Backup, Free. `now_ms`: wall time.
Table HostsTable(const state::ClusterState& cluster, std::int64_t now_ms);

// The rows of HostsTable with hosts that differ in nothing but their name as one row, in the order
// of the first of them. COUNT follows HOST, which names them as HostNames (node_names.h)
// does.
Table GroupedHosts(const Table& hosts);

}  // namespace yardmaster::cli
