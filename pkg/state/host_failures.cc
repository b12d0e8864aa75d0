#include "pkg/state/host_failures.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace yardmaster::state {

namespace {

constexpr double kDayMs = 86'400'000;
constexpr std::int64_t kSameFailureMs = 600'000;

using HostAndTime = std::pair<std::string, std::int64_t>;

bool IsOfHost(const api::Incident& incident) {
  const bool host = incident.cause == api::IncidentCause::kHostLost ||
                    incident.cause == api::IncidentCause::kHostFault;
  return host && !incident.host.empty();
}

std::int64_t HostsOf(const api::JobSpec& job, int gpus_per_host) {
  const std::int64_t gpus = std::int64_t{1} * job.workers * job.gpus_per_worker;
  return std::min<std::int64_t>(job.workers, (gpus + gpus_per_host - 1) / gpus_per_host);
}

}  // namespace

HostFailures SeenHostFailures(const ObjectTable<api::TrainingJob>& jobs, int gpus_per_host,
                              std::int64_t now_ms) {
  HostFailures seen;
  std::vector<HostAndTime> failures;
  for (const auto& job : jobs) {
    const api::TrainingJobStatus& status = job->status;
    if (status.start_ms == 0) continue;
    const std::vector<api::Incident>& kept = status.recovery.incidents;
    const bool all_kept = kept.size() < api::kKeptIncidents;
    const std::int64_t since_ms =
        all_kept ? status.start_ms : std::max(status.start_ms, kept.front().start_ms + 1);
    const std::int64_t until_ms = status.completion_ms != 0 ? status.completion_ms : now_ms;
    if (until_ms <= since_ms) continue;
    seen.host_days += static_cast<double>(HostsOf(job->job, gpus_per_host)) *
                      static_cast<double>(until_ms - since_ms) / kDayMs;
    for (const api::Incident& incident : kept) {
      const bool in_time = incident.start_ms >= since_ms && incident.start_ms <= until_ms;
      if (in_time && IsOfHost(incident)) failures.emplace_back(incident.host, incident.start_ms);
    }
  }
  std::sort(failures.begin(), failures.end());
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const bool same = i > 0 && failures[i].first == failures[i - 1].first &&
                      failures[i].second - failures[i - 1].second <= kSameFailureMs;
    seen.failures += same ? 0 : 1;
  }
  return seen;
}

}  // namespace yardmaster::state
