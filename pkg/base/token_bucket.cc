#include "pkg/base/token_bucket.h"

#include <algorithm>
#include <cmath>

namespace yardmaster {

void TokenBucket::Refill(std::int64_t now_ms) {
  if (last_ms_ >= 0) {
    const double passed = static_cast<double>(std::max<std::int64_t>(0, now_ms - last_ms_));
    tokens_ = std::min(burst_, tokens_ + rate_ * passed / 1000);
  }
  last_ms_ = std::max(last_ms_, now_ms);
}

std::size_t TokenBucket::Take(std::size_t wanted, std::int64_t now_ms) {
  Refill(now_ms);
  if (tokens_ < 1) return 0;
  const std::size_t taken = std::min(wanted, static_cast<std::size_t>(tokens_));
  tokens_ -= static_cast<double>(taken);
  return taken;
}

bool TokenBucket::Has(std::int64_t now_ms) {
  Refill(now_ms);
  return tokens_ >= 1;
}

std::int64_t TokenBucket::Reserve(std::int64_t now_ms, std::int64_t longest_ms) {
  Refill(now_ms);
  const std::int64_t wait_ms =
      tokens_ >= 1 ? 0 : static_cast<std::int64_t>(std::ceil((1 - tokens_) * 1000 / rate_));
  if (wait_ms <= longest_ms) tokens_ -= 1;
  return wait_ms;
}

}  // namespace yardmaster
