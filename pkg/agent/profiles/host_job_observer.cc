#include "pkg/agent/profiles/host_job_observer.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace yardmaster::agent {

namespace {

// How often the pods of the host are looked at.
constexpr std::int64_t kPodsMs = 1'000;

void AddTo(ShimSummary& sum, const ShimSummary& pod) {
  sum.processes += pod.processes;
  sum.steered += pod.steered;
  sum.unsteered += pod.unsteered;
  sum.unplanned += pod.unplanned;
  sum.kept_class += pod.kept_class;
  sum.unreadable += pod.unreadable;
  for (const auto& [reason, count] : pod.reasons) {
    const bool room = static_cast<int>(sum.reasons.size()) < kMaxReasons - 1;
    sum.reasons[room || sum.reasons.count(reason) > 0 ? reason : "other"] += count;
  }
}

}  // namespace

void HostJobObserver::StopMeasuring(const std::string& pod_uid) {
  const MutexLock lock(mutex_);
  reporting_.insert(pod_uid);
}

ShimSummary HostJobObserver::shims() const {
  ShimSummary sum;
  for (const auto& [uid, summary] : shims_by_pod()) AddTo(sum, summary);
  return sum;
}

std::map<std::string, ShimSummary> HostJobObserver::shims_by_pod() const {
  const MutexLock lock(mutex_);
  return shims_;
}

std::map<std::string, std::vector<LocalNicPort>> HostJobObserver::PodsToMeasure() const {
  std::map<std::string, std::vector<LocalNicPort>> ports;
  for (const rpc::PodPlanStatus& pod : sources_.pods()) {
    if (!pod.gang.empty()) ports[pod.pod_uid];
  }
  if (ports.empty()) return ports;
  const std::optional<FabricView> fabric = sources_.fabric();
  const std::vector<LocalNicPort> host = HostNicPorts(
      options_.sysfs_root, options_.ports, fabric ? fabric->rails * fabric->nic_ports : -1);
  if (ports.size() == 1) ports.begin()->second = host;
  if (sources_.nics) {
    for (PodNics& nics : sources_.nics(host)) {
      const auto at = ports.find(nics.pod_uid);
      if (at != ports.end() && !nics.ports.empty()) at->second = std::move(nics.ports);
    }
  }
  const MutexLock lock(mutex_);
  std::erase_if(ports, [this](const auto& pod) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return pod.second.empty() || reporting_.count(pod.first) > 0;
  });
  return ports;
}

void HostJobObserver::Measure(std::int64_t steady_ms, const std::string& pod_uid,
                              Measurement& measurement) {
  std::vector<std::uint64_t> sent;
  for (const LocalNicPort& port : measurement.meter.ports()) {
    const auto bytes = ReadSentBytes(options_.sysfs_root, port);
    if (!bytes) return;
    sent.push_back(*bytes);
  }
  if (progress_ != nullptr) {
    const auto all = std::accumulate(sent.begin(), sent.end(), 0.0);
    progress_->AddTraffic(steady_ms, pod_uid, all);
  }
  measurement.meter.Add(steady_ms, std::move(sent));
  if (steady_ms < measurement.next_ms) return;
  measurement.next_ms = steady_ms + options_.measure_interval_ms;
  auto report = measurement.meter.Measure();
  if (report && progress_ != nullptr) {
    progress_->AddPeriod(steady_ms, pod_uid, *report->iteration_seconds);
  }
  if (report && sources_.take({pod_uid, *std::move(report)}).ok()) ++measured_;
}

void HostJobObserver::ReadShims() {
  std::map<std::string, ShimSummary> by_pod;
  for (const rpc::PodPlanStatus& pod : sources_.pods()) {
    auto summary = ReadShimReports(options_.kubelet_pods_folder, pod.pod_uid);
    if (summary.ok()) by_pod[pod.pod_uid] = *std::move(summary);
  }
  const MutexLock lock(mutex_);
  shims_ = std::move(by_pod);
}

void HostJobObserver::ChooseMeasurements() {
  std::map<std::string, std::vector<LocalNicPort>> pods = PodsToMeasure();
  std::erase_if(measurements_, [&](const auto& entry) {
    const auto at = pods.find(entry.first);
    return at == pods.end() || at->second != entry.second.meter.ports();
  });
  for (auto& [uid, ports] : pods) {
    measurements_.try_emplace(uid, Measurement{{std::move(ports), options_.traffic}, 0});
  }
}

std::int64_t HostJobObserver::Step(std::int64_t steady_ms) {
  if (!options_.kubelet_pods_folder.empty() && steady_ms >= next_shims_ms_) {
    next_shims_ms_ = steady_ms + options_.shim_interval_ms;
    ReadShims();
  }
  const bool checks = pods_checked_ms_ < 0 || steady_ms - pods_checked_ms_ >= kPodsMs;
  if (checks) pods_checked_ms_ = steady_ms;
  if (checks && !options_.sysfs_root.empty()) ChooseMeasurements();
  for (auto& [uid, measurement] : measurements_) Measure(steady_ms, uid, measurement);
  if (checks && progress_ != nullptr) {
    std::set<std::string> uids;
    for (const rpc::PodPlanStatus& pod : sources_.pods()) uids.insert(pod.pod_uid);
    progress_->Step(steady_ms, uids);
  }
  return measurements_.empty() ? kPodsMs : options_.traffic.interval_ms;
}

}  // namespace yardmaster::agent
