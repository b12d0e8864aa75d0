// One look at a TrainingJob: how much of it is done at once, and what is left.
//
// Thread safety: values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace yardmaster::op {

// Which pods one look at a job may make. Everything else is done in each.
enum class JobTurn {
  kWhole,       // all
  kPrompt,      // of a job that has run in full before, up to the limit of a turn; else none
  kBackground,  // up to the limit of a turn
  kLook  // none: it waits for its try (refusal_pacer.h), and pods that it has are taken back, up to
         // the limit of a turn
};
struct TurnResult {
  // Look again after this time although nothing has changed.
  std::optional<std::int64_t> look_again_ms;
  // To make: the job needs a background turn. A Service that was refused counts as one.
  std::size_t pods_left = 0;
  std::size_t taken_back = 0;  // pods of a job that waits for its try
  // What is left to make waits for hosts, or for their network plan: no turn helps until the Gang
  // or the plan has changed.
  bool waits = false;
  bool has_hosts = false;  // of a placed gang, which stand empty until its pods are made

  void LookAgain(std::int64_t in_ms) {
    look_again_ms = std::min(look_again_ms.value_or(in_ms), in_ms);
  }
};

// When a background turn of a job is due. Jobs with few pods go before larger ones that came
// shortly before, and those that have their hosts before all that came in kAheadMs; every one has
// its turn in the end.
constexpr std::int64_t BackgroundDueMs(const TurnResult& turn) {
  constexpr std::int64_t kAheadMs = 10'000;
  return turn.has_hosts ? -kAheadMs : static_cast<std::int64_t>(turn.pods_left);
}

}  // namespace yardmaster::op
