#include "pkg/agent/ports/port_loss.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace yardmaster::agent {

namespace {

// A longer interval than so many mixes times that may differ.
constexpr std::int64_t kMaxIntervals = 4;
// Of the share at which a port is found: that at which it is not clean.
constexpr double kCleanShare = 0.1;

using Counters = std::span<const std::optional<std::uint64_t>>;

// By how much the counters have grown together. nullopt: none was read, not the same ones were read
// both times, or one went backwards.
std::optional<double> Growth(Counters before, Counters now) {
  std::optional<double> growth;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (before[i].has_value() != now[i].has_value()) return std::nullopt;
    if (!now[i]) continue;
    if (*now[i] < *before[i]) return std::nullopt;
    growth = growth.value_or(0) + static_cast<double>(*now[i] - *before[i]);
  }
  return growth;
}

}  // namespace

std::vector<api::LossyPort> LossFinder::Observe(std::int64_t steady_ms,
                                                const std::vector<Sample>& samples) {
  std::map<api::NicPortKey, Port> present;
  for (const Sample& sample : samples) {
    Port port = std::move(ports_[sample.key]);
    if (!port.device.empty() && port.device != sample.device) port = Port();
    port.device = sample.device;
    Judge(steady_ms, sample.frames, port);
    present[sample.key] = std::move(port);
  }
  ports_ = std::move(present);
  std::vector<api::LossyPort> lossy;
  for (const auto& [key, port] : ports_) {
    if (port.per_million > 0) lossy.push_back({key, port.per_million});
  }
  return lossy;
}

void LossFinder::Adopt(const std::vector<api::LossyPort>& ports) {
  if (limits_.share <= 0) return;
  for (const api::LossyPort& lossy : ports) {
    Port& port = ports_[lossy.key];
    port.per_million = lossy.per_million;
    port.needed_ms = limits_.clean_ms;
  }
}

void LossFinder::Judge(std::int64_t steady_ms, const PortFrames& frames, Port& port) const {
  if (limits_.share <= 0) return;
  if (port.last && 2 * (steady_ms - port.last->steady_ms) < limits_.interval_ms) return;
  const std::optional<Reading> before = std::exchange(port.last, Reading{steady_ms, frames});
  if (!before || steady_ms - before->steady_ms > kMaxIntervals * limits_.interval_ms) return;
  const auto damaged = Growth(before->frames.damaged, frames.damaged);
  const auto received = Growth(before->frames.received, frames.received);
  if (!damaged || !received) return;
  Interval interval{steady_ms, *damaged, *damaged + *received};
  if (port.per_million == 0) {
    interval.bad =
        interval.damaged >= kMinDamaged && interval.damaged >= limits_.share * interval.frames;
    Find(interval, port);
    return;
  }
  const bool clean =
      interval.damaged == 0 || interval.damaged < kCleanShare * limits_.share * interval.frames;
  port.clean_for_ms = clean ? port.clean_for_ms + steady_ms - before->steady_ms : 0;
  if (port.clean_for_ms < port.needed_ms) return;
  port.per_million = 0;
  port.cleared_ms = steady_ms;
}

void LossFinder::Find(const Interval& interval, Port& port) const {
  if (!interval.bad && interval.frames < kMinFrames) return;
  port.intervals.push_back(interval);
  while (port.intervals.size() > kIntervals ||
         interval.end_ms - port.intervals.front().end_ms > kWindowMs) {
    port.intervals.pop_front();
  }
  int bad = 0;
  double damaged = 0, frames = 0;
  for (const Interval& past : port.intervals) {
    if (!past.bad) continue;
    ++bad;
    damaged += past.damaged;
    frames += past.frames;
  }
  if (bad < kBadIntervals) return;
  port.per_million = static_cast<int>(std::clamp(std::round(1e6 * damaged / frames), 1.0, 1e6));
  const bool again =
      port.cleared_ms >= 0 && interval.end_ms - port.cleared_ms <= 2 * port.needed_ms;
  port.needed_ms = again ? std::min(2 * port.needed_ms, limits_.max_clean_ms) : limits_.clean_ms;
  port.clean_for_ms = 0;
  port.intervals.clear();
}

}  // namespace yardmaster::agent
