#include "pkg/agent/profiles/traffic_meter.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

constexpr std::int64_t kMaxGapIntervals = 10;
constexpr std::uint64_t kInfinibandWordBytes = 4;

}  // namespace

void TrafficMeter::Add(std::int64_t steady_ms, std::vector<std::uint64_t> sent_bytes) {
  if (sent_bytes.size() != ports_.size()) return;
  Reading reading{steady_ms, std::move(sent_bytes), 0};
  if (!readings_.empty()) {
    const Reading& last = readings_.back();
    bool broken = steady_ms - last.steady_ms > kMaxGapIntervals * options_.interval_ms;
    double sent = 0;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      broken = broken || reading.sent_bytes[i] < last.sent_bytes[i];
      sent += static_cast<double>(reading.sent_bytes[i] - last.sent_bytes[i]);
    }
    if (!broken && steady_ms <= last.steady_ms) return;
    reading.total = last.total + sent;
    if (broken) {
      readings_.clear();
      reading.total = 0;
    }
  }
  readings_.push_back(std::move(reading));
  // One reading beyond the window, so that the whole of it is between readings.
  while (readings_.size() > 2 &&
         readings_.back().steady_ms - readings_[1].steady_ms >= options_.window_ms) {
    readings_.pop_front();
  }
}

std::vector<double> TrafficMeter::Intervals() const {
  const std::int64_t end = readings_.back().steady_ms;
  const std::int64_t count = options_.window_ms / options_.interval_ms;
  std::vector<double> sent;
  sent.reserve(static_cast<std::size_t>(count));
  std::size_t at = 0;
  double before = -1;
  for (std::int64_t i = 0; i <= count; ++i) {
    const std::int64_t time = end - (count - i) * options_.interval_ms;
    while (at + 2 < readings_.size() && readings_[at + 1].steady_ms < time) ++at;
    const Reading& left = readings_[at];
    const Reading& right = readings_[at + 1];
    const double share = static_cast<double>(time - left.steady_ms) /
                         static_cast<double>(right.steady_ms - left.steady_ms);
    const double total = left.total + share * (right.total - left.total);
    if (before >= 0) sent.push_back(std::max(0.0, total - before));
    before = total;
  }
  return sent;
}

std::optional<api::ProfileReport> TrafficMeter::Measure() {
  if (readings_.size() < 2) return std::nullopt;
  const Reading first = readings_.front();
  const Reading last = readings_.back();
  if (last.steady_ms - first.steady_ms < options_.window_ms) return std::nullopt;
  const auto estimate =
      EstimateIterations(Intervals(), static_cast<double>(options_.interval_ms) / 1000);
  if (!estimate || estimate->error_seconds > options_.max_error * estimate->seconds) {
    return std::nullopt;
  }
  api::ProfileReport report;
  report.samples = estimate->iterations;
  report.iteration_seconds = estimate->seconds;
  report.communication_seconds = estimate->sending_share * estimate->seconds;
  const double iterations =
      static_cast<double>(last.steady_ms - first.steady_ms) / 1000 / estimate->seconds;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const auto rail = static_cast<std::size_t>(ports_[i].rail);
    if (report.sent_bytes.size() <= rail) report.sent_bytes.resize(rail + 1, 0);
    report.sent_bytes[rail] +=
        static_cast<double>(last.sent_bytes[i] - first.sent_bytes[i]) / iterations;
  }
  readings_.clear();
  readings_.push_back({last.steady_ms, last.sent_bytes, 0});
  return report;
}

std::optional<std::uint64_t> ReadSentBytes(const std::string& sysfs_root,
                                           const LocalNicPort& port) {
  const std::string path =
      port.interface.empty()
          ? StrCat(sysfs_root, "/class/infiniband/", port.rdma_device, "/ports/", port.rdma_port,
                   "/counters/port_xmit_data")
          : StrCat(sysfs_root, "/class/net/", port.interface, "/statistics/tx_bytes");
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return port.interface.empty() ? value * kInfinibandWordBytes : value;
}

}  // namespace yardmaster::agent
