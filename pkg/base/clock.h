// Time as an argument. Components hold a Clock&; tests hold a FakeClock, which moves only when a
// test advances it. Wall time is for timestamps and expiry; steady time is for durations.
// Thread safety: both clocks may be read from any thread; FakeClock may be advanced from any
// thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster {

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since the Unix epoch.
  virtual std::int64_t WallMs() const = 0;
  // Milliseconds since an arbitrary start; never goes back.
  virtual std::int64_t SteadyMs() const = 0;
};

class RealClock final : public Clock {
 public:
  std::int64_t WallMs() const override;
  std::int64_t SteadyMs() const override;
};

class FakeClock final : public Clock {
 public:
  explicit FakeClock(std::int64_t wall_ms = 1'700'000'000'000) : wall_ms_(wall_ms) {}
  std::int64_t WallMs() const override { return wall_ms_; }
  std::int64_t SteadyMs() const override { return steady_ms_; }
  void Advance(std::int64_t ms) {
    wall_ms_ += ms;
    steady_ms_ += ms;
  }

 private:
  std::atomic<std::int64_t> wall_ms_;
  std::atomic<std::int64_t> steady_ms_{0};
};

// Milliseconds until the deadline, rounded up; 0 once it has passed, at most 1,000,000. For
// poll(2).
int MsUntil(std::chrono::steady_clock::time_point deadline);

// RFC 3339 in UTC with seconds ("2026-01-02T03:04:05Z"), as Kubernetes writes metav1.Time.
std::string FormatTime(std::int64_t wall_ms);
// RFC 3339 in UTC with microseconds, as Kubernetes writes metav1.MicroTime (leases, events).
std::string FormatMicroTime(std::int64_t wall_ms);
// Any RFC 3339 time, with an offset from UTC and with a fraction of a second of any length, in
// milliseconds since the Unix epoch; a finer fraction is rounded down. Errors: InvalidArgument on
// anything else, and on years outside 0000 to 9999.
absl::StatusOr<std::int64_t> ParseTime(std::string_view text);

}  // namespace yardmaster
