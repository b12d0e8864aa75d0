// The time that one kind of work has in a pass. Work that is left over is for the next pass, which should follow
// without a pause (PassReport::releases_left), so that no amount of it holds up what comes after it in the pass.
//
// Only the time inside Spend counts: kinds of work that take turns do not use up each other's time. The call that
// is under way when the time ends is finished, so every pass does some of the work. Thread safety: none.
// Lifetimes: the clock outlives it.
#pragma once

#include <cstdint>

#include "pkg/base/clock.h"
#include "pkg/extender/ledger/pass.h"

namespace yardmaster::extender {

class WorkShare {
 public:
  WorkShare(const Clock& clock, std::int64_t ms) : clock_(clock), left_ms_(ms) {}

  // True: the rest is for the next pass, and `report` says so.
  bool IsOver(PassReport& report) const {
    if (left_ms_ > 0) return false;
    report.releases_left = true;
    return true;
  }
  // What `work` returns.
  template <typename Work>
  auto Spend(const Work& work) {
    const std::int64_t begin_ms = clock_.SteadyMs();
    auto result = work();
    left_ms_ -= clock_.SteadyMs() - begin_ms;
    return result;
  }

 private:
  const Clock& clock_;
  std::int64_t left_ms_;
};

}  // namespace yardmaster::extender
