// Waiting, backing off and rate limiting, with clock, sleep and randomness as arguments so that
// tests need no real time. Thread safety: stated per class.
#pragma once

#include <cstdint>
#include <stop_token>

#include "absl/status/status.h"

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/base/random.h"
#include "pkg/base/token_bucket.h"

namespace yardmaster::kube {

// Thread-safe.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  // Waits `ms`, or until `stop` is requested: then false, at once.
  virtual bool Sleep(std::int64_t ms, std::stop_token stop) = 0;
};

class RealSleeper final : public Sleeper {
 public:
  bool Sleep(std::int64_t ms, std::stop_token stop) override;
};

// What everything that waits in this folder is given. Both must outlive its holder. `seed`
// starts the jitter; give replicas different ones.
struct Timing {
  const Clock& clock;
  Sleeper& sleeper;
  std::uint64_t seed;
};

// Delays of 0.8 s that double up to 30 s, each with as much again of jitter at most. Not
// thread-safe.
class JitteredBackoff {
 public:
  explicit JitteredBackoff(std::uint64_t seed) : random_(seed) {}
  std::int64_t NextMs();
  void Reset() { last_ms_ = 0; }

 private:
  Random random_;
  std::int64_t last_ms_ = 0;  // without jitter
};

// `burst` calls at once, then `qps` a second. Thread-safe; waiting calls are served in the order in
// which they came.
class RateLimiter {
 public:
  // `qps` <= 0: no limit. `clock` and `sleeper` must outlive the limiter.
  RateLimiter(double qps, int burst, const Clock& clock, Sleeper& sleeper);
  // Waits for a token. DeadlineExceeded, at once and without taking it, if it would come only
  // after `deadline_ms` (steady time); Cancelled after `stop`.
  absl::Status Wait(std::int64_t deadline_ms, std::stop_token stop);

 private:
  const double qps_;
  const Clock& clock_;
  Sleeper& sleeper_;
  Mutex mutex_;
  TokenBucket bucket_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::kube
