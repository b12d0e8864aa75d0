// The time that one kind of work has in a pass. What is left when it is over is for the next pass,
// so that no amount of such work holds up what comes after it.
//
// Only time that is spent counts: kinds of work that take turns do not use up each other's time. A
// call that is under way when the time ends is finished, so that every pass does some of the work.
//
// Thread safety: IsOver from any thread while none begins or ends spending. Lifetimes: the clock
// outlives it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "pkg/base/clock.h"

namespace yardmaster::extender {

class TimeBudget {
 public:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  TimeBudget(const Clock& clock, std::int64_t ms) : clock_(clock), ms_(ms) {}

  bool IsOver() const {
    return spent_ms_ + (began_ms_ ? clock_.SteadyMs() - *began_ms_ : 0) >= ms_;
  }

  // Time is spent for as long as it lives. One at a time.
  class Spending {
   public:
    explicit Spending(TimeBudget& budget) : budget_(budget) {
      budget_.began_ms_ = budget_.clock_.SteadyMs();
    }
    ~Spending() {
      budget_.spent_ms_ += budget_.clock_.SteadyMs() - *budget_.began_ms_;
      budget_.began_ms_.reset();
    }
    Spending(const Spending&) = delete;
    Spending& operator=(const Spending&) = delete;

   private:
    TimeBudget& budget_;
  };

 private:
  const Clock& clock_;
  const std::int64_t ms_;
  std::int64_t spent_ms_ = 0;
  std::optional<std::int64_t> began_ms_;  // steady
};

}  // namespace yardmaster::extender
