// The size of one reconcile of a TrainingJob: which pods it may create, and what it leaves over.
//
// Thread safety: values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace yardmaster::op {

// Which pods one reconcile may create. Every reconcile does everything else.
enum class JobTurn {
  kWhole,       // all
  kPrompt,      // those of a job that has run in full before, up to the limit of a turn; else none
  kBackground,  // up to the limit of a turn
  kLook  // none: the job waits for its next try (refusal_pacer.h); existing pods are removed, up to
         // the limit of a turn
};
struct TurnResult {
  // Reconcile again after this time, even if nothing changes.
  std::optional<std::int64_t> look_again_ms;
  // Pods left to create, for which the job needs a background turn. A Service that was refused
  // counts as one.
  std::size_t pods_left = 0;
  std::size_t taken_back = 0;  // pods removed of a job that waits for its next try
  // The pods left wait for hosts or their network plan: no turn helps until the Gang or the plan
  // changes.
  bool waits = false;
  bool has_hosts = false;  // the gang is placed; its hosts stay empty until its pods are created

  void LookAgain(std::int64_t in_ms) {
    look_again_ms = std::min(look_again_ms.value_or(in_ms), in_ms);
  }
};

// Returns the sort key of a background turn, in ms after its arrival. Jobs with few pods go before
// larger ones that came shortly before, and jobs that have their hosts before all that came in the
// last kAheadMs. Every job gets its turn.
constexpr std::int64_t BackgroundDueMs(const TurnResult& turn) {
  constexpr std::int64_t kAheadMs = 10'000;
  return turn.has_hosts ? -kAheadMs : static_cast<std::int64_t>(turn.pods_left);
}

}  // namespace yardmaster::op
