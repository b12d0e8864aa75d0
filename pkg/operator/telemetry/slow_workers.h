// SlowWorkers decides from the successive reports of a gang's workers which of its hosts is slow,
// and whether the gang may leave that host (stragglers.h).
//
//   - A worker becomes slow when its speed falls below `share` of that of its peers. It stops being
//     slow when it has made up half of the difference, so that noise does not change the result. A
//     worker with another pod or another host is a new one.
//   - The host may be left only if a report that was made at least `grace_ms` after the first slow
//     one confirms it. The times in the reports count, not when they were read.
//   - A report that has not changed for more than kReportLifeMs is ignored, because its agent may
//     be gone.
//   - If a gang has two slow hosts, it leaves neither: it would still run at the pace of the other.
//   - If the job's own CPU limit explains the pace (stragglers.h), the gang stays: the next host
//     has the same limit. Then the first report after the last one that the limit explains counts
//     as the first slow one, because a worker uses less than its limit for short times, as in a
//     checkpoint.
//   - If a report does not state the effect of the limit, the last stated effect is used for
//     kReportLifeMs, and none afterwards.
//
// Complexity: Observe takes O(n log n) for n compared workers. Determinism: a function of the
// calls. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/namespaced_name.h"
#include "pkg/operator/hosts/held_back.h"
#include "pkg/operator/telemetry/stragglers.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

// Agents renew reports that do not change at intervals of up to eight minutes.
inline constexpr std::int64_t kReportLifeMs = 1'000'000;

// The host of a gang that has been slow for longest.
struct SlowHost {
  int rank = 0;  // the lowest slow rank of the host
  std::string host;
  std::string has;       // PaceText
  std::string stays;     // why the gang does not leave it; empty: it may
  bool limited = false;  // the job's own CPU limit explains the pace
};
using SlowHosts = std::map<NamespacedName, SlowHost>;  // by gang

class SlowWorkers {
 public:
  explicit SlowWorkers(SlowHostLimits limits = {}) : limits_(limits) {}
  const SlowHostLimits& limits() const { return limits_; }

  // Records the newest reports of the gang. Returns its slow host; nullopt: none is slow. `now_ms`:
  // steady clock.
  std::optional<SlowHost> Observe(const NamespacedName& gang,
                                  const std::vector<ComparedWorker>& compared, std::int64_t now_ms);
  // Removes from `compared`, as last passed to Observe, the slow workers whose reports are too old.
  std::vector<ComparedWorker> Fresh(const NamespacedName& gang,
                                    std::vector<ComparedWorker> compared,
                                    std::int64_t now_ms) const;
  // Drops the gangs that are not in the snapshot.
  void KeepOnly(const plan::Snapshot& snapshot);
  void Clear() { gangs_.clear(); }

 private:
  struct Slow {
    std::string host;
    std::string pod_uid;
    std::int64_t since_ms = 0;
    std::int64_t report_ms = 0;  // time in the newest report
    std::int64_t seen_ms = 0;    // when it was first read, steady clock
    double told_times = 0;       // `times` when `has` was written
    bool limited = false;
    std::string has;
    // Time in the first report that the limit does not explain; 0: there is none.
    std::int64_t first_report_ms = 0;
    std::int64_t limit_known_ms = 0;  // steady clock: the last report that stated it
  };
  using SlowByRank = std::map<int, Slow>;

  std::string WhyStays(const SlowByRank& ranks, const Slow& slow) const;

  const SlowHostLimits limits_;
  std::map<NamespacedName, SlowByRank> gangs_;
};

}  // namespace yardmaster::op
