// Paces a costly question about a gang, such as reading its owner from the API server: at once when
// the gang's pods have changed, then after waits that double from 250 ms to ten seconds. A pass asks at
// most 16 questions, first those that have been due for longest, so that no number of gangs of one
// namespace holds up the others.
//
// Thread safety: one thread. Lifetimes: the clock outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "pkg/base/clock.h"
#include "pkg/extender/ledger/pass.h"

namespace yardmaster::extender {

class AskTimes {
 public:
  explicit AskTimes(const Clock& clock) : clock_(clock) {}

  // Around the questions of one pass; gangs that no question was about are forgotten.
  void Begin();
  void End();
  // True: ask now. Wakes the pass that asks next.
  bool IsDue(PassState& pass, const NamespacedName& key);

 private:
  // When an owner was asked last, and what its pods were then.
  struct Asked {
    std::shared_ptr<const GatheredGang> pods;
    std::int64_t next_ms = 0;  // steady
    std::int64_t wait_ms = 0;
    std::uint64_t round = 0;
  };

  const Clock& clock_;
  std::uint64_t round_ = 0;
  int left_ = 0;              // questions of this pass
  std::int64_t turn_ms_ = 0;  // questions that became due later are left to the next pass
  std::map<NamespacedName, Asked> asked_;
};

}  // namespace yardmaster::extender
