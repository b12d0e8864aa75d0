#include "pkg/agent/profiles/progress_observer.h"

#include <utility>

namespace yardmaster::agent {

namespace {

constexpr std::int64_t kStepMs = 1'000;
// A pause of that length is looked at.
constexpr std::int64_t kLookMs = 5'000;
// Samples of a pause that goes on for kLongMs are further apart.
constexpr std::int64_t kLongMs = 120'000;
constexpr std::int64_t kLongSampleMs = 10'000;
constexpr std::int64_t kWorkSampleMs = 600'000;
// Of the CPU time of those that worked. Launchers that are left have far less.
constexpr std::int64_t kLeftShare = 10;

}  // namespace

void ProgressObserver::AddTraffic(std::int64_t steady_ms, const std::string& pod_uid,
                                  double sent_bytes) {
  pods_[pod_uid].tracker.AddTraffic(steady_ms, sent_bytes);
}

void ProgressObserver::AddPeriod(std::int64_t steady_ms, const std::string& pod_uid,
                                 double iteration_seconds) {
  pods_[pod_uid].tracker.AddPeriod(steady_ms, iteration_seconds);
}

void ProgressObserver::Report(const std::string& pod_uid) {
  const MutexLock lock(mutex_);
  reported_[pod_uid] = clock_.SteadyMs();
}

void ProgressObserver::TakeReported(std::int64_t steady_ms) {
  std::map<std::string, std::int64_t> reported;
  {
    const MutexLock lock(mutex_);
    reported.swap(reported_);
  }
  for (const auto& [uid, at_ms] : reported) {
    pods_[uid].tracker.AddReport(std::min(at_ms, steady_ms));
  }
}

void ProgressObserver::Publish(const std::string& uid, api::ProgressReport report) {
  const MutexLock lock(mutex_);
  const auto at = reports_.find(uid);
  // What makes progress and always did needs no word.
  if (at == reports_.end() && report.state == api::ProgressState::kProgressing) return;
  if (at != reports_.end() && at->second.state == report.state) {
    report.last_progress_ms = at->second.last_progress_ms;
    if (report.state == api::ProgressState::kProgressing) return;
  }
  reports_[uid] = report;
}

void ProgressObserver::Withdraw(const std::string& uid) {
  const MutexLock lock(mutex_);
  const auto at = reports_.find(uid);
  if (at == reports_.end() || at->second.state != api::ProgressState::kWaiting) return;
  reports_.erase(at);
}

void ProgressObserver::Sample(std::int64_t steady_ms, const std::string& uid, Pod& pod,
                              std::int64_t quiet_ms) {
  if (quiet_ms < kLookMs) pod.samples.clear();
  if (quiet_ms < kLookMs || steady_ms < pod.next_sample_ms) return;
  pod.next_sample_ms = steady_ms + (quiet_ms < kLongMs ? kStepMs : kLongSampleMs);
  auto sample = sources_.processes(steady_ms, uid);
  if (!sample) return;
  pod.samples.push_back(*std::move(sample));
  if (pod.samples.size() > kSummarySamples) pod.samples.pop_front();
}

void ProgressObserver::SampleWork(std::int64_t steady_ms, const std::string& uid, Pod& pod) {
  if (steady_ms < pod.next_work_ms) return;
  pod.next_work_ms = steady_ms + kWorkSampleMs;
  const auto sample = sources_.processes(steady_ms, uid);
  if (sample) pod.work_cpu_ms = CpuOf(*sample);
}

void ProgressObserver::Assess(std::int64_t steady_ms, const std::string& uid, Pod& pod) {
  const ProgressFacts facts = pod.tracker.At(steady_ms);
  Sample(steady_ms, uid, pod, facts.quiet_ms);
  if (facts.armed && facts.quiet_ms < kLookMs) SampleWork(steady_ms, uid, pod);
  std::optional<ProcessSummary> processes;
  if (!pod.samples.empty()) processes = Summarize(pod.samples, facts.quiet_ms);
  api::ProgressReport report;
  // The annotation keeps whole seconds.
  report.time_ms = clock_.WallMs() / 1000 * 1000;
  report.last_progress_ms = clock_.WallMs() - facts.quiet_ms;
  const bool ended = processes && kLeftShare * CpuOf(pod.samples.back()) < pod.work_cpu_ms;
  if (processes && (processes->restarted || ended)) {
    pod.tracker.Restart(steady_ms);
    pod.samples.clear();
    pod.work_cpu_ms = pod.next_work_ms = 0;
    return processes->restarted ? Publish(uid, report) : Withdraw(uid);
  }
  const auto state = AssessProgress(facts, processes, limits_);
  const bool waits = state == api::ProgressState::kWaiting;
  if (!waits && !facts.progress_known) return Withdraw(uid);
  if (!state) {
    // Its iterations are not known any more, after a long pause; that it goes on is.
    return facts.quiet_ms < kLookMs ? Publish(uid, report) : Withdraw(uid);
  }
  report.state = *state;
  report.iteration_seconds = static_cast<double>(facts.iteration_ms) / 1000;
  report.longest_pause_seconds = static_cast<double>(facts.longest_pause_ms) / 1000;
  if (waits) {
    if (processes) report.processes = processes->activity;
    report.gpus_compute = sources_.gpus_compute(uid);
    if (report.is_stopped()) pod.tracker.DiscountPause();
  }
  Publish(uid, report);
}

void ProgressObserver::Step(std::int64_t steady_ms, const std::set<std::string>& uids) {
  if (steady_ms < next_ms_) return;
  next_ms_ = steady_ms + kStepMs;
  TakeReported(steady_ms);
  std::erase_if(pods_, [&](const auto& pod) { return uids.count(pod.first) == 0; });
  {
    const MutexLock lock(mutex_);
    std::erase_if(reports_, [&](const auto& pod) { return uids.count(pod.first) == 0; });
  }
  for (auto& [uid, pod] : pods_) Assess(steady_ms, uid, pod);
}

std::map<std::string, api::ProgressReport> ProgressObserver::reports() const {
  const MutexLock lock(mutex_);
  return reports_;
}

}  // namespace yardmaster::agent
