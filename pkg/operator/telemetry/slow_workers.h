// Which host of a gang is slow, from round to round of its workers' reports (stragglers.h).
//
// A worker is slow from when it computes at less than `share` of the speed of its like until it
// has made up half of what it lacks, so that noise around the limit neither begins nor ends it. It
// is no longer the same slow worker once its pod or its host is another.
//
// A report is the word of a worker's own agent and may be the last one of an agent that is gone.
// Therefore the host is only left once a report that was made `grace_ms` after the first slow one
// says the same, by the times in the reports, however late a round sees them, and while the newest
// was seen first no more than kReportLifeMs ago. An older one speaks neither for nor against. Of a
// gang with two slow hosts none is left, for it would go on at the pace of the other one. A host
// where the job's own CPU limit explains the pace (stragglers.h) is not left: the next host has the
// same limit. The first slow report is the first one after the last that the limit explains: for a
// moment, as in a checkpoint, a worker uses less than its limit. Where it is not known what the
// limit does, it does what it did for kReportLifeMs, and nothing from then on.
//
// Complexity: Observe takes O(n log n) of the compared workers. Determinism: depends on the calls
// alone. Thread safety: none; one thread owns it.
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
  int rank = 0;  // the lowest slow one there
  std::string host;
  std::string has;       // PaceText
  std::string stays;     // why no rank is to leave it yet; empty: reports confirm that it is slow
  bool limited = false;  // the job's own CPU limit explains it
};
using SlowHosts = std::map<NamespacedName, SlowHost>;  // by gang

class SlowWorkers {
 public:
  explicit SlowWorkers(SlowHostLimits limits = {}) : limits_(limits) {}
  const SlowHostLimits& limits() const { return limits_; }

  // What follows from the newest reports of the gang; nullopt: none of its hosts is slow.
  // `now_ms`: steady.
  std::optional<SlowHost> Observe(const NamespacedName& gang,
                                  const std::vector<ComparedWorker>& compared, std::int64_t now_ms);
  // `compared` as Observe had it last, without slow workers whose reports are too old to say so.
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
    std::int64_t report_ms = 0;  // the time in the newest report
    std::int64_t seen_ms = 0;    // when that was seen first: steady
    double told_times = 0;       // for `has`
    bool limited = false;
    std::string has;
    // The time in the first one that the limit does not explain; 0: none had one.
    std::int64_t first_report_ms = 0;
    std::int64_t limit_known_ms = 0;  // when a report last said what its limit does: steady
  };
  using SlowByRank = std::map<int, Slow>;

  std::string WhyStays(const SlowByRank& ranks, const Slow& slow) const;

  const SlowHostLimits limits_;
  std::map<NamespacedName, SlowByRank> gangs_;
};

}  // namespace yardmaster::op
