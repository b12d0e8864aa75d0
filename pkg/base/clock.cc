#include "pkg/base/clock.h"

#include <algorithm>

#include "absl/time/time.h"

#include "pkg/base/strings.h"

namespace yardmaster {

std::int64_t RealClock::WallMs() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::int64_t RealClock::SteadyMs() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int MsUntil(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
}

std::string FormatTime(std::int64_t wall_ms) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", absl::FromUnixMillis(wall_ms),
                          absl::UTCTimeZone());
}

std::string FormatMicroTime(std::int64_t wall_ms) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E6SZ", absl::FromUnixMillis(wall_ms),
                          absl::UTCTimeZone());
}

absl::StatusOr<std::int64_t> ParseTime(std::string_view text) {
  absl::Time time;
  std::string error;
  // RFC 3339 has years of four digits; absl takes longer ones, and "infinite-future".
  constexpr std::int64_t kYear0Ms = -62'167'219'200'000;
  constexpr std::int64_t kYear10000Ms = 253'402'300'800'000;
  if (!absl::ParseTime(absl::RFC3339_full, absl::string_view(text.data(), text.size()), &time,
                       &error) ||
      time < absl::FromUnixMillis(kYear0Ms) || time >= absl::FromUnixMillis(kYear10000Ms)) {
    return absl::InvalidArgumentError(
        StrCat("\"", text, "\" is not an RFC 3339 time like 2026-01-02T03:04:05Z"));
  }
  return absl::ToUnixMillis(time);
}

}  // namespace yardmaster
