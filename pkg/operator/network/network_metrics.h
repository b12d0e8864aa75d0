// Exports the metrics yardmaster_operator_* of network rounds. docs/reference/metrics.md says what
// each means and what a bad value is. Thread safety: one thread.
#pragma once

#include "pkg/metrics/registry.h"
#include "pkg/operator/network/network_round.h"
#include "pkg/operator/network/network_writes.h"

namespace yardmaster::op {

// `seconds`: duration of the round, including writes.
void ReportRound(const RoundReport& report, double seconds, metrics::Registry& registry);

// For writes between rounds.
void ReportWrites(const WriteResult& written, metrics::Registry& registry);

}  // namespace yardmaster::op
