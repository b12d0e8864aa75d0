// Paces a costly question about gangs, such as reading their owners from the API server: at once
// when a gang's pods have changed, then after waits that double from 250 ms to ten seconds. Of one
// question a pass asks a few gangs, first those that have been due for longest, so that no number
// of gangs of one namespace holds up the others.
//
// Thread safety: one thread. Lifetimes: the clock outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "pkg/base/clock.h"
#include "pkg/extender/ledger/pass_report.h"
#include "pkg/gather/gather.h"

namespace yardmaster::extender {

class OwnerQueryLimiter {
 public:
  // `per_pass`: gangs that a pass asks, at least one.
  OwnerQueryLimiter(const Clock& clock, std::size_t per_pass)
      : clock_(clock), per_pass_(per_pass) {}

  // Around the questions of one pass; gangs that no question was about are forgotten.
  void Begin();
  void End();
  // True: ask now. `pods`: of the gang. Wakes the pass that asks next.
  bool IsDue(const NamespacedName& gang, std::shared_ptr<const gather::GatheredGang> pods,
             PassReport& report);

 private:
  // When a gang was asked about last, and what its pods were then.
  struct Asked {
    std::shared_ptr<const gather::GatheredGang> pods;
    std::int64_t next_ms = 0;  // steady
    std::int64_t wait_ms = 0;
    std::uint64_t round = 0;
  };

  const Clock& clock_;
  const std::size_t per_pass_;
  std::uint64_t round_ = 0;
  std::size_t left_ = 0;      // questions of this pass
  std::int64_t turn_ms_ = 0;  // questions that became due later are left to the next pass
  std::map<NamespacedName, Asked> asked_;
};

}  // namespace yardmaster::extender
