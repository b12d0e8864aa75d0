#include "pkg/operator/telemetry/slow_workers.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

// What people are told stays while the worker's pace differs by no more from it.
constexpr double kToldChange = 0.15;

}  // namespace

std::optional<SlowHost> SlowWorkers::Observe(const NamespacedName& gang,
                                             const std::vector<ComparedWorker>& compared,
                                             std::int64_t now_ms) {
  const auto known = gangs_.find(gang);
  const SlowByRank before = known == gangs_.end() ? SlowByRank() : std::move(known->second);
  if (known != gangs_.end()) gangs_.erase(known);
  const double begins = 1 / limits_.share;
  const double ends = (1 + begins) / 2;
  SlowByRank now;
  for (const ComparedWorker& worker : compared) {
    const WorkerPace& pace = worker.pace;
    const auto at = before.find(pace.rank);
    const bool same =
        at != before.end() && at->second.host == pace.host && at->second.pod_uid == pace.pod_uid;
    if (worker.times <= (same ? ends : begins)) continue;
    Slow slow = same ? at->second : Slow{pace.host, pace.pod_uid, now_ms, 0, now_ms, 0, false, ""};
    if (same && slow.report_ms != pace.time_ms) slow.seen_ms = now_ms;
    slow.report_ms = pace.time_ms;
    // Again where the clock of the host was set back.
    if (slow.first_report_ms == 0 || slow.report_ms < slow.first_report_ms) {
      slow.first_report_ms = slow.report_ms;
    }
    ComparedWorker told = worker;
    if (worker.limited) slow.limit_known_ms = now_ms;
    const bool was_limited = slow.limited && now_ms - slow.limit_known_ms <= kReportLifeMs;
    told.limited = worker.limited.value_or(was_limited);
    if (*told.limited) slow.first_report_ms = 0;
    if (std::abs(worker.times - slow.told_times) > kToldChange * slow.told_times ||
        *told.limited != slow.limited) {
      slow.told_times = worker.times;
      slow.limited = *told.limited;
      slow.has = PaceText(told);
    }
    now.emplace(pace.rank, std::move(slow));
  }
  std::optional<SlowHost> found;
  std::int64_t since_ms = 0;
  SlowByRank fresh = now;
  std::erase_if(fresh,
                [&](const auto& entry) { return now_ms - entry.second.seen_ms > kReportLifeMs; });
  for (const auto& [rank, slow] : fresh) {
    if (found && slow.since_ms >= since_ms) continue;
    found = SlowHost{rank, slow.host, slow.has, WhyStays(fresh, slow), slow.limited};
    since_ms = slow.since_ms;
  }
  if (!now.empty()) gangs_[gang] = std::move(now);
  return found;
}

std::vector<ComparedWorker> SlowWorkers::Fresh(const NamespacedName& gang,
                                               std::vector<ComparedWorker> compared,
                                               std::int64_t now_ms) const {
  const auto ranks = gangs_.find(gang);
  if (ranks == gangs_.end()) return compared;
  std::erase_if(compared, [&](const ComparedWorker& worker) {
    const auto slow = ranks->second.find(worker.pace.rank);
    return slow != ranks->second.end() && now_ms - slow->second.seen_ms > kReportLifeMs;
  });
  return compared;
}

std::string SlowWorkers::WhyStays(const SlowByRank& ranks, const Slow& slow) const {
  if (slow.limited) {
    return "every host has that limit: raise resources.limits.cpu of the job's pods, or leave it "
           "out";
  }
  const bool others = std::any_of(ranks.begin(), ranks.end(), [&](const auto& entry) {
    return entry.second.host != slow.host;
  });
  if (others) return "another host of it is slow, too";
  if (slow.report_ms == 0) return "its agent does not say when it measured";
  if (slow.report_ms - slow.first_report_ms >= limits_.grace_ms) return "";
  return StrCat("no report that was made ", limits_.grace_ms / 1000,
                " s after the first one confirms it yet");
}

void SlowWorkers::KeepOnly(const plan::Snapshot& snapshot) {
  std::set<NamespacedName> there;
  for (const plan::JobState& job : snapshot.jobs) there.insert(job.job.key);
  std::erase_if(gangs_, [&](const auto& entry) { return there.count(entry.first) == 0; });
}

}  // namespace yardmaster::op
