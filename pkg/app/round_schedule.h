// When to make the next round of work that follows from changes: after `quiet_ms` without another
// change, or `max_delay_ms` after the first change that no round has seen, whichever is earlier; at
// the latest at a time that was requested (RequestAt), and every `resync_ms`. After a round there
// is a pause of `pause_share` times its length, at most `max_pause_ms`, which delays all of these:
// changes that never end, such as those that the rounds' own writes make, do not keep a core busy.
// The time that a round waited for others does not count. Pure arithmetic on times that the caller
// reads. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "pkg/base/run_once.h"

namespace yardmaster::app {

// Whether the run threw, and may have broken off anywhere. What throws for one object is a failure
// of that object, and the run went on.
inline bool BrokeOff(const RunResult& result) {
  return std::any_of(result.failures.begin(), result.failures.end(), [](const RunFailure& failure) {
    return failure.object.empty() && IsDefect(failure.error);
  });
}

struct RoundTimes {
  std::int64_t quiet_ms = 0;
  std::int64_t max_delay_ms = 0;
  std::int64_t resync_ms = 0;
  std::int64_t pause_share = 3;
  std::int64_t max_pause_ms = 5'000;
  std::int64_t urgent_ms = 20;  // urgent changes that come together make one round
};

class RoundSchedule {
 public:
  explicit RoundSchedule(const RoundTimes& times) : times_(times) {}

  void Changed(std::int64_t now_ms) {
    if (!has_changes_) first_change_ms_ = now_ms;
    has_changes_ = true;
    last_change_ms_ = now_ms;
  }
  // Whether something has changed that no round has seen.
  bool has_changes() const { return has_changes_; }
  // Requests another round at `at_ms`, or at the end of the pause if that is later, with or without
  // changes.
  void RequestAt(std::int64_t at_ms) { again_at_ms_ = std::min(at_ms, again_at_ms_); }
  // What a run says of the next one. After a run that BrokeOff no change brings it forward.
  void Take(const RunResult& result, std::int64_t now_ms) {
    if (!result.again_ms) return;
    const std::int64_t at_ms = now_ms + *result.again_ms;
    RequestAt(at_ms);
    if (!BrokeOff(result)) return;
    not_before_ms_ = std::max(not_before_ms_, at_ms);
    short_pause_end_ms_ = not_before_ms_;
  }
  // What has changed does not wait for the pause to end.
  void SkipPause() { not_before_ms_ = 0; }
  // Nor does it wait for longer than the round took: half of the time is left alone all the same.
  void ShortenPause() { not_before_ms_ = std::min(not_before_ms_, short_pause_end_ms_); }
  // A change that waits neither for quiet nor for the pause to end.
  void Urgent(std::int64_t now_ms) {
    Changed(now_ms);
    SkipPause();
    RequestAt(now_ms + times_.urgent_ms);
  }
  // Until the next round is due; 0: now.
  std::int64_t WaitMs(std::int64_t now_ms) const {
    std::int64_t due_ms = begun_ms_ >= 0 ? begun_ms_ + times_.resync_ms : now_ms;
    if (has_changes_) {
      due_ms = std::min(
          {due_ms, last_change_ms_ + times_.quiet_ms, first_change_ms_ + times_.max_delay_ms});
    }
    due_ms = std::min(due_ms, again_at_ms_);
    return std::max({std::int64_t{0}, due_ms - now_ms, not_before_ms_ - now_ms});
  }
  // A round begins.
  void Begin(std::int64_t now_ms) {
    has_changes_ = false;
    again_at_ms_ = kNever;
    begun_ms_ = now_ms;
  }
  // The round is over; for `waited_ms` of it this process was idle. REQUIRES: it has begun.
  void End(std::int64_t now_ms, std::int64_t waited_ms = 0) {
    const std::int64_t busy_ms = std::max<std::int64_t>(0, now_ms - begun_ms_ - waited_ms);
    not_before_ms_ = now_ms + std::min(times_.pause_share * busy_ms, times_.max_pause_ms);
    short_pause_end_ms_ = now_ms + std::min(busy_ms, times_.max_pause_ms);
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  const RoundTimes times_;
  bool has_changes_ = false;
  std::int64_t first_change_ms_ = 0;  // valid while has_changes_
  std::int64_t last_change_ms_ = 0;
  std::int64_t again_at_ms_ = kNever;
  std::int64_t begun_ms_ = -1;  // of the last round; -1: the first is due at once
  std::int64_t not_before_ms_ = 0;
  std::int64_t short_pause_end_ms_ = 0;
};

}  // namespace yardmaster::app
