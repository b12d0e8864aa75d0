#include "pkg/agent/profiles/gpu_observer.h"

#include <algorithm>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

constexpr std::size_t kMinClocks = 3;
// Of what they did at most.
constexpr double kComputes = 0.1;

absl::Status ProblemOf(const FlopRates& rates) {
  const auto count = [&](const char* state) {
    const auto at = rates.gpus.find(state);
    return at == rates.gpus.end() ? 0 : at->second;
  };
  if (!rates.unknown_model.empty()) {
    return absl::NotFoundError(
        StrCat("GPU \"", rates.unknown_model, "\" is not known; say its peak with --gpu-peak"));
  }
  if (count("unknown-model") > 0) return absl::NotFoundError("GPUs without the label modelName");
  if (count("no-activity") > 0) {
    return absl::NotFoundError("GPUs without DCGM_FI_PROF_PIPE_TENSOR_ACTIVE");
  }
  if (count("no-clock") > 0) return absl::NotFoundError("GPUs without DCGM_FI_DEV_SM_CLOCK");
  return absl::OkStatus();
}

}  // namespace

void GpuObserver::Step(std::int64_t steady_ms) {
  if (steady_ms < next_ms_) return;
  next_ms_ = steady_ms + options_.interval_ms;
  auto text = read_(options_.source, options_.limits);
  auto samples = text.ok() ? ReadGpuMetrics(*text) : text.status();
  const MutexLock lock(mutex_);
  ++reads_;
  while (!readings_.empty() && readings_.front().steady_ms < steady_ms - options_.window_ms) {
    readings_.pop_front();
  }
  if (!samples.ok()) {
    ++failures_;
    problem_ = Annotate(samples.status(), "GPUs not read");
    return;
  }
  readings_.push_back({steady_ms, FlopRatesOf(*samples, options_.peaks)});
  problem_ = ProblemOf(readings_.back().rates);
}

std::optional<double> GpuObserver::FlopPerSecond(const std::string& ns,
                                                 const std::string& pod) const {
  const MutexLock lock(mutex_);
  double sum = 0;
  std::size_t count = 0;
  for (const Reading& reading : readings_) {
    const auto at = reading.rates.flop_per_second.find({ns, pod});
    if (at == reading.rates.flop_per_second.end()) continue;
    sum += at->second;
    ++count;
  }
  if (count < options_.min_readings) return std::nullopt;
  return sum / static_cast<double>(count);
}

std::optional<double> GpuObserver::ClockMhz(const std::string& ns, const std::string& pod) const {
  const MutexLock lock(mutex_);
  std::vector<double> clocks;
  for (const Reading& reading : readings_) {
    if (reading.steady_ms <= readings_.back().steady_ms - options_.clock_window_ms) continue;
    const auto at = reading.rates.clock_mhz.find({ns, pod});
    if (at != reading.rates.clock_mhz.end()) clocks.push_back(at->second);
  }
  if (clocks.size() < kMinClocks) return std::nullopt;
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  return *middle;
}

void GpuObserver::Fill(const std::string& ns, const std::string& pod,
                       api::ProfileReport& report) const {
  report.gpu_clock_mhz = ClockMhz(ns, pod);
  if (report.flop || !report.iteration_seconds) return;
  const std::optional<double> rate = FlopPerSecond(ns, pod);
  // GPUs that did nothing say nothing of an iteration.
  if (rate && *rate > 0) report.flop = *rate * *report.iteration_seconds;
}

std::optional<bool> GpuObserver::Computes(const std::string& ns, const std::string& pod) const {
  const MutexLock lock(mutex_);
  if (readings_.empty()) return std::nullopt;
  double highest = 0;
  for (const Reading& reading : readings_) {
    const auto at = reading.rates.flop_per_second.find({ns, pod});
    if (at != reading.rates.flop_per_second.end()) highest = std::max(highest, at->second);
  }
  const auto& last = readings_.back().rates.flop_per_second;
  const auto at = last.find({ns, pod});
  if (at == last.end()) return std::nullopt;
  return at->second > 0 && at->second >= kComputes * highest;
}

absl::Status GpuObserver::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

std::map<std::string, int> GpuObserver::gpus() const {
  const MutexLock lock(mutex_);
  return readings_.empty() ? std::map<std::string, int>() : readings_.back().rates.gpus;
}

std::int64_t GpuObserver::reads() const {
  const MutexLock lock(mutex_);
  return reads_;
}

std::int64_t GpuObserver::failures() const {
  const MutexLock lock(mutex_);
  return failures_;
}

}  // namespace yardmaster::agent
