// Delays between tries that double: the first is `first_ms`, none is above `max_ms`. The caller
// keeps the last delay, adds jitter where several processes could retry in step, and resets the
// delay after a success. Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

namespace yardmaster {

struct BackoffLimits {
  std::int64_t first_ms = 0;
  std::int64_t max_ms = 0;
};

// The delay that follows one of `last_ms`; `last_ms` is 0 before the first try.
// REQUIRES: 0 <= last_ms and 0 <= first_ms <= max_ms.
constexpr std::int64_t NextDelayMs(std::int64_t last_ms, BackoffLimits limits) {
  return last_ms > limits.max_ms / 2 ? limits.max_ms
                                     : std::clamp(last_ms * 2, limits.first_ms, limits.max_ms);
}

}  // namespace yardmaster
