// RoundSchedule computes when the next round of work that follows from changes is due:
//
//   - after `quiet_ms` without another change, or `max_delay_ms` after the first change that no
//     round has seen, whichever is earlier;
//   - at the time that was requested (RequestAt), if earlier;
//   - every `resync_ms` at the latest.
//
// After a round there is a pause of `pause_share` times its length, at most `max_pause_ms`, which
// delays all of these. So endless changes, such as those by the rounds' own writes, do not use a
// whole core. The time for which a round waited is not counted.
//
// It is pure arithmetic on times that the caller reads. Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "pkg/base/run_once.h"

namespace yardmaster::app {

// Whether the whole run threw an exception. An exception for one object is a failure of that
// object, and the run continued.
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
  std::int64_t urgent_ms = 20;  // urgent changes within this time share a round
};

class RoundSchedule {
 public:
  explicit RoundSchedule(const RoundTimes& times) : times_(times) {}

  void Changed(std::int64_t now_ms) {
    if (!has_changes_) first_change_ms_ = now_ms;
    has_changes_ = true;
    last_change_ms_ = now_ms;
  }
  // Whether there is a change that no round has seen.
  bool has_changes() const { return has_changes_; }
  // Requests another round at `at_ms`, or at the end of the pause if that is later, with or without
  // changes.
  void RequestAt(std::int64_t at_ms) { again_at_ms_ = std::min(at_ms, again_at_ms_); }
  // Applies what a run says about the next one. After a run that BrokeOff, changes do not start it
  // earlier.
  void Take(const RunResult& result, std::int64_t now_ms) {
    if (!result.again_ms) return;
    const std::int64_t at_ms = now_ms + *result.again_ms;
    RequestAt(at_ms);
    if (!BrokeOff(result)) return;
    not_before_ms_ = std::max(not_before_ms_, at_ms);
    short_pause_end_ms_ = not_before_ms_;
  }
  // Ends the pause.
  void SkipPause() { not_before_ms_ = 0; }
  // Shortens the pause to the length of the round, so that half of the time stays idle.
  void ShortenPause() { not_before_ms_ = std::min(not_before_ms_, short_pause_end_ms_); }
  // Records a change that waits neither for quiet nor for the end of the pause.
  void Urgent(std::int64_t now_ms) {
    Changed(now_ms);
    SkipPause();
    RequestAt(now_ms + times_.urgent_ms);
  }
  // Returns the milliseconds until the next round; 0: now.
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
  // A round has ended, of which the process was idle for `waited_ms`. REQUIRES: Begin was called.
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
  std::int64_t begun_ms_ = -1;  // start of the last round; -1: the first one is due
  std::int64_t not_before_ms_ = 0;
  std::int64_t short_pause_end_ms_ = 0;
};

}  // namespace yardmaster::app
