// A token bucket: `rate` tokens a second, at most `burst` saved up; it starts full. Times are
// steady milliseconds; one before an earlier one counts as no time passed. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace yardmaster {

class TokenBucket {
 public:
  // REQUIRES: rate > 0, burst >= 1.
  TokenBucket(double rate, double burst) : rate_(rate), burst_(burst), tokens_(burst) {}

  // How many of `wanted` may go now; they are taken.
  std::size_t Take(std::size_t wanted, std::int64_t now_ms);
  // Until there is a token for the next caller, as of the last call with a time; 0: there is one.
  std::int64_t WaitMs() const;

  // For callers that wait for their token, in the order of their calls: how long this one waits,
  // with its token taken. Above `longest_ms` no token is taken.
  std::int64_t Reserve(std::int64_t now_ms, std::int64_t longest_ms);

 private:
  void Refill(std::int64_t now_ms);

  const double rate_;
  const double burst_;
  double tokens_;  // below zero: promised to callers that wait
  std::int64_t last_ms_ = -1;
};

}  // namespace yardmaster
