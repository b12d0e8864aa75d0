// A token bucket: `rate` tokens a second, at most `burst` saved up; it starts full. Times are
// steady milliseconds. A time before that of the last call is treated as that of the last call.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace yardmaster {

class TokenBucket {
 public:
  // REQUIRES: rate > 0, burst >= 1.
  TokenBucket(double rate, double burst) : rate_(rate), burst_(burst), tokens_(burst) {}

  // Takes whole tokens, at most `wanted`, and returns how many it took.
  std::size_t Take(std::size_t wanted, std::int64_t now_ms);

  // Whether Take would take one.
  bool Has(std::int64_t now_ms);

  // Takes a token in advance and returns after how many milliseconds the caller may use it; callers
  // are served in the order of their calls. If the result is above `longest_ms`, no token was
  // taken.
  std::int64_t Reserve(std::int64_t now_ms, std::int64_t longest_ms);

 private:
  void Refill(std::int64_t now_ms);

  const double rate_;
  const double burst_;
  double tokens_;  // below zero: promised to callers that wait
  std::int64_t last_ms_ = -1;
};

}  // namespace yardmaster
