// When to make the next round of work that follows from changes: debounced (debounce.h), at the
// latest at a time a round asked for, and at least every `resync_ms`. After a round that took time
// there is a pause of kPause times as long, at most kMaxPauseMs: changes that never end, such as
// those that the rounds' own writes make, keep no core busy. Pure arithmetic on times that the caller
// reads. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pkg/app/debounce.h"

namespace yardmaster::app {

class RoundSchedule {
 public:
  static constexpr std::int64_t kPause = 3;
  static constexpr std::int64_t kMaxPauseMs = 5'000;

  RoundSchedule(std::int64_t min_ms, std::int64_t max_ms, std::int64_t resync_ms)
      : debounce_(min_ms, max_ms), resync_ms_(resync_ms) {}

  void Changed(std::int64_t now_ms) { debounce_.Changed(now_ms); }
  // Requests another round no later than `at_ms`, with or without changes.
  void Again(std::int64_t at_ms) {
    again_at_ms_ = again_at_ms_ < 0 ? at_ms : std::min(at_ms, again_at_ms_);
  }
  // What has changed does not wait for the pause to end.
  void Hurry() { not_before_ms_ = 0; }
  // Until the next round is due; 0: now.
  std::int64_t WaitMs(std::int64_t now_ms) const {
    std::int64_t wait =
        last_ms_ < 0 ? 0 : std::max<std::int64_t>(0, last_ms_ + resync_ms_ - now_ms);
    if (const auto delay = debounce_.Delay(now_ms)) wait = std::min(wait, *delay);
    if (again_at_ms_ >= 0) {
      wait = std::min(wait, std::max<std::int64_t>(0, again_at_ms_ - now_ms));
    }
    return std::max(wait, not_before_ms_ - now_ms);
  }
  // A round begins.
  void Begin(std::int64_t now_ms) {
    debounce_.Acted();
    again_at_ms_ = -1;
    last_ms_ = now_ms;
  }
  // The round is over.
  void End(std::int64_t now_ms) {
    not_before_ms_ = now_ms + std::min(kPause * (now_ms - last_ms_), kMaxPauseMs);
  }

 private:
  Debounce debounce_;
  const std::int64_t resync_ms_;
  std::int64_t again_at_ms_ = -1;  // -1: not asked for
  std::int64_t last_ms_ = -1;      // -1: the first round is due at once
  std::int64_t not_before_ms_ = 0;
};

}  // namespace yardmaster::app
