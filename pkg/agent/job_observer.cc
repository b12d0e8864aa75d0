#include "pkg/agent/job_observer.h"

#include <algorithm>
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

void JobObserver::ReportsItself(const std::string& pod_uid) {
  const std::lock_guard lock(mutex_);
  reporting_.insert(pod_uid);
}

ShimSummary JobObserver::shims() const {
  const std::lock_guard lock(mutex_);
  return shims_;
}

std::string JobObserver::PodToMeasure() const {
  std::string uid;
  for (const rpc::PodPlanStatus& pod : sources_.pods()) {
    if (pod.gang.empty()) continue;
    if (!uid.empty()) return "";  // counters do not tell them apart
    uid = pod.pod_uid;
  }
  const std::lock_guard lock(mutex_);
  return reporting_.count(uid) > 0 ? "" : uid;
}

std::vector<NicPort> JobObserver::Ports() const {
  if (!options_.ports.empty()) return options_.ports;
  std::vector<NicPort> found = DiscoverNicPorts(options_.sysfs_root);
  const std::optional<FabricView> fabric = sources_.fabric();
  const bool complete =
      fabric.has_value() && static_cast<int>(found.size()) == fabric->rails * fabric->nic_ports;
  return complete ? found : std::vector<NicPort>();
}

void JobObserver::Measure(std::int64_t steady_ms) {
  std::vector<std::uint64_t> sent;
  for (const NicPort& port : meter_->ports()) {
    const auto bytes = ReadSentBytes(options_.sysfs_root, port);
    if (!bytes) return;
    sent.push_back(*bytes);
  }
  meter_->Add(steady_ms, std::move(sent));
  if (steady_ms < next_measure_ms_) return;
  next_measure_ms_ = steady_ms + options_.measure_interval_ms;
  auto report = meter_->Measure();
  if (report && sources_.take({measured_pod_, *std::move(report)}).ok()) ++measured_;
}

void JobObserver::ReadShims() {
  ShimSummary sum;
  for (const rpc::PodPlanStatus& pod : sources_.pods()) {
    const auto summary = ReadShimReports(options_.kubelet_pods_folder, pod.pod_uid);
    if (summary.ok()) AddTo(sum, *summary);
  }
  const std::lock_guard lock(mutex_);
  shims_ = std::move(sum);
}

std::int64_t JobObserver::Step(std::int64_t steady_ms) {
  if (!options_.kubelet_pods_folder.empty() && steady_ms >= next_shims_ms_) {
    next_shims_ms_ = steady_ms + options_.shim_interval_ms;
    ReadShims();
  }
  if (options_.sysfs_root.empty()) return kPodsMs;
  if (pod_checked_ms_ < 0 || steady_ms - pod_checked_ms_ >= kPodsMs) {
    pod_checked_ms_ = steady_ms;
    const std::string pod = PodToMeasure();
    if (pod != measured_pod_ || !meter_) {
      measured_pod_ = pod;
      meter_.reset();
      std::vector<NicPort> ports = pod.empty() ? std::vector<NicPort>() : Ports();
      if (!ports.empty()) meter_.emplace(std::move(ports), options_.traffic);
    }
  }
  if (!meter_) return kPodsMs;
  Measure(steady_ms);
  return options_.traffic.interval_ms;
}

}  // namespace yardmaster::agent
