// yardmaster_extender_* about passes; docs/reference/metrics.md says what each means and what a bad
// value is. Thread safety: one thread.
#pragma once

#include "pkg/extender/ledger/pass_report.h"
#include "pkg/metrics/registry.h"

namespace yardmaster::extender {

// `seconds`: length of the pass, writes included.
void ReportPass(const PassReport& report, double seconds, metrics::Registry& registry);

}  // namespace yardmaster::extender
