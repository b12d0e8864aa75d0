// TimeBudget limits the time that one kind of work may use in a pass. The next pass does the rest,
// so that this work cannot delay the work after it indefinitely.
//
// Only time within a Spending counts, so kinds of work that alternate do not use each other's
// budget. A call that has begun when the budget ends is completed, so every pass makes progress.
//
// Thread safety: IsOver from any thread while no Spending begins or ends. Lifetimes: the clock
// outlives the budget.
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

  // Counts the time of its life against the budget. At most one exists at a time.
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
