// yardmaster_extender_* about passes; docs/reference/metrics.md says what each means and what a bad
// value is. Thread safety: one thread.
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
  // Those that have series of their own. Jobs choose priorities, so their number has a bound.
  std::set<int> priorities_;
};

}  // namespace yardmaster::extender
