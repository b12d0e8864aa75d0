#include "pkg/agent/profiles/profile_collector.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pkg/agent/plans/annotations.h"
#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::agent {

namespace {

constexpr double kThrottledChange = 0.2;

// More pods than GPUs on any node; reports of others are refused before they take memory.
constexpr std::size_t kMaxPods = 4096;

bool Moved(std::optional<double> written, std::optional<double> now, double min_change) {
  if (written.has_value() != now.has_value()) return true;
  if (!now) return false;
  return std::abs(*now - *written) > min_change * std::max(std::abs(*now), std::abs(*written));
}

}  // namespace

void ProfileCollector::Add(Mean& mean, std::optional<double> value, double iterations) const {
  if (!value) {
    mean.missing += iterations;
    if (mean.missing >= options_.window) mean = {};
    return;
  }
  mean.missing = 0;
  // What was there keeps at most what the window leaves it.
  const double kept = std::max(0.0, std::min(mean.weight, options_.window - iterations));
  mean.value = (mean.value * kept + *value * iterations) / (kept + iterations);
  mean.weight = std::min(kept + iterations, options_.window);
}

absl::Status ProfileCollector::Take(const rpc::IterationReport& report, std::int64_t steady_ms,
                                    std::int64_t wall_ms) {
  absl::Status good = api::CheckProfileReport(report.means);
  const MutexLock lock(mutex_);
  if (good.ok() && entries_.count(report.pod_uid) == 0 && entries_.size() >= kMaxPods) {
    good = absl::ResourceExhaustedError(StrCat("reports of ", kMaxPods, " pods are held"));
  }
  if (!good.ok()) {
    ++refused_;
    return good;
  }
  ++taken_;
  Entry& entry = entries_[report.pod_uid];
  const api::ProfileReport& means = report.means;
  const double iterations = std::min(static_cast<double>(means.samples), options_.window);
  entry.samples =
      std::min(entry.samples + means.samples, static_cast<std::int64_t>(options_.window));
  Add(entry.iteration, means.iteration_seconds, iterations);
  Add(entry.compute, means.compute_seconds, iterations);
  Add(entry.communication, means.communication_seconds, iterations);
  Add(entry.start, means.communication_start, iterations);
  Add(entry.flop, means.flop, iterations);
  if (means.compute_seconds) {
    entry.recent.Add(steady_ms, means.samples, *means.compute_seconds);
    entry.compute_ms = steady_ms;
  } else if (steady_ms - entry.compute_ms > RecentCompute::kWindowMs) {
    entry.recent = {};
  }
  if (means.gpu_clock_mhz) {
    entry.gpu_clock_mhz = means.gpu_clock_mhz;
    entry.clock_ms = steady_ms;
  } else if (steady_ms - entry.clock_ms > RecentCompute::kWindowMs) {
    entry.gpu_clock_mhz.reset();
  }
  entry.cpu_throttled = means.cpu_throttled;
  // The annotation keeps whole seconds.
  entry.time_ms = wall_ms / 1000 * 1000;
  entry.sent.resize(std::max(entry.sent.size(), means.sent_bytes.size()));
  for (std::size_t i = 0; i < entry.sent.size(); ++i) {
    const bool has = i < means.sent_bytes.size();
    Add(entry.sent[i], has ? std::optional(means.sent_bytes[i]) : std::nullopt, iterations);
  }
  while (!entry.sent.empty() && entry.sent.back().weight == 0) entry.sent.pop_back();
  return absl::OkStatus();
}

api::ProfileReport ProfileCollector::ReportOf(const Entry& entry) const {
  const auto value = [](const Mean& mean) {
    return mean.weight > 0 ? std::optional(mean.value) : std::nullopt;
  };
  api::ProfileReport report;
  report.samples = entry.samples;
  report.iteration_seconds = value(entry.iteration);
  report.compute_seconds = value(entry.compute);
  report.communication_seconds = value(entry.communication);
  report.communication_start = value(entry.start);
  report.flop = value(entry.flop);
  for (const Mean& mean : entry.sent) report.sent_bytes.push_back(mean.value);
  report.recent_compute_seconds = entry.recent.Median();
  report.gpu_clock_mhz = entry.gpu_clock_mhz;
  report.cpu_throttled = entry.cpu_throttled;
  // A mean is of no time: a reader that has nothing else to compare must not think that it is new.
  if (report.recent_compute_seconds || (report.gpu_clock_mhz && !report.compute_seconds)) {
    report.time_ms = entry.time_ms;
  }
  return report;
}

bool ProfileCollector::ChangedEnough(const std::optional<api::ProfileReport>& written,
                                     const api::ProfileReport& now) const {
  if (!written) return true;
  if (written->samples < options_.trusted_samples && now.samples >= options_.trusted_samples) {
    return true;
  }
  const auto moved = [this](std::optional<double> a, std::optional<double> b) {
    return Moved(a, b, options_.min_change);
  };
  if (written->sent_bytes.size() != now.sent_bytes.size()) return true;
  for (std::size_t i = 0; i < now.sent_bytes.size(); ++i) {
    if (moved(written->sent_bytes[i], now.sent_bytes[i])) return true;
  }
  if (std::abs(now.cpu_throttled.value_or(0) - written->cpu_throttled.value_or(0)) >
      kThrottledChange) {
    return true;
  }
  return moved(written->iteration_seconds, now.iteration_seconds) ||
         moved(written->compute_seconds, now.compute_seconds) ||
         moved(written->communication_seconds, now.communication_seconds) ||
         moved(written->communication_start, now.communication_start) ||
         moved(written->flop, now.flop) || moved(written->gpu_clock_mhz, now.gpu_clock_mhz) ||
         Moved(written->recent_compute_seconds, now.recent_compute_seconds,
               2 * options_.min_change);
}

bool ProfileCollector::IsDue(Entry& entry, const api::ProfileReport& report,
                             std::int64_t steady_ms) const {
  const bool jumped =
      entry.written && Moved(entry.written->recent_compute_seconds, report.recent_compute_seconds,
                             3 * options_.min_change);
  if (steady_ms < entry.next_write_ms - (jumped ? options_.pod_interval_ms / 2 : 0)) return false;
  if (ChangedEnough(entry.written, report)) {
    entry.renewals = 0;
  } else if (steady_ms < entry.renew_ms || entry.written->time_ms == report.time_ms) {
    return false;
  } else {
    entry.renewals = std::min(entry.renewals + 1, kMaxRenewals);
  }
  entry.next_write_ms = steady_ms + options_.pod_interval_ms;
  entry.renew_ms = steady_ms + (options_.pod_interval_ms << entry.renewals);
  return true;
}

std::vector<absl::Status> ProfileCollector::Flush(std::int64_t steady_ms, const FindPod& find) {
  struct Due {
    PodInput pod;
    api::ProfileReport report;
  };
  std::vector<Due> due;
  {
    const MutexLock lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end();) {
      const std::optional<PodInput> pod = find(it->first);
      if (!pod) {
        it = entries_.erase(it);
        continue;
      }
      Entry& entry = it->second;
      ++it;
      if (steady_ms < entry.next_write_ms - options_.pod_interval_ms / 2 ||
          static_cast<int>(due.size()) >= options_.writes_per_flush) {
        continue;
      }
      api::ProfileReport report = ReportOf(entry);
      if (IsDue(entry, report, steady_ms)) due.push_back({*pod, std::move(report)});
    }
  }
  // The API server is called without the lock: reports come in meanwhile.
  std::vector<absl::Status> errors;
  for (Due& write : due) {
    const absl::Status status = AnnotatePod(client_, write.pod, api::kProfileAnnotation,
                                            api::EncodeProfileReport(write.report));
    if (!status.ok() && !kube::IsGone(status)) {
      errors.push_back(Annotate(status, StrCat("pod ", write.pod.ns, "/", write.pod.name)));
      continue;
    }
    const MutexLock lock(mutex_);
    const auto at = entries_.find(write.pod.uid);
    if (at != entries_.end()) at->second.written = std::move(write.report);
    if (status.ok()) ++writes_;
  }
  return errors;
}

std::int64_t ProfileCollector::taken() const {
  const MutexLock lock(mutex_);
  return taken_;
}
std::int64_t ProfileCollector::refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}
std::int64_t ProfileCollector::writes() const {
  const MutexLock lock(mutex_);
  return writes_;
}

}  // namespace yardmaster::agent
