// PassMetrics exports the metrics yardmaster_extender_* about passes. docs/reference/metrics.md
// describes each one and its bad values.
//
// Thread safety: one thread.
#pragma once

#include <set>
#include <string>

#include "pkg/extender/ledger/pass_report.h"
#include "pkg/metrics/registry.h"

namespace yardmaster::extender {

class PassMetrics {
 public:
  // `registry` outlives the metrics.
  explicit PassMetrics(metrics::Registry& registry) : registry_(registry) {}

  // `seconds`: length of the pass, writes included.
  void Report(const PassReport& report, double seconds);

 private:
  void ReportDecision(const GangDecision& decision);
  std::string LabelOf(int priority);

  metrics::Registry& registry_;
  // Priorities that have their own series. Their number is limited, because users choose
  // priorities.
  std::set<int> priorities_;
};

}  // namespace yardmaster::extender
