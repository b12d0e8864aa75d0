// OwnerQueryLimiter limits how often a pass asks a costly question about gangs, such as a read of
// their owners from the API server.
//
//   - A gang is asked about immediately when its pods have changed, and then at intervals that
//     double from 250 ms to 10 s.
//   - One pass asks about at most `per_pass` gangs, those first that have been due for longest. So
//     many gangs in one namespace do not delay the others.
//
// Thread safety: one thread. Lifetimes: the clock outlives the limiter.
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
  // `per_pass`: maximum number of gangs per pass, at least one.
  OwnerQueryLimiter(const Clock& clock, std::size_t per_pass)
      : clock_(clock), per_pass_(per_pass) {}

  // Begin and end the questions of a pass. End forgets the gangs about which no question was asked.
  void Begin();
  void End();
  // Returns true if the question may be asked now. `report` gets the time of the gang's next
  // question. `pods`: the gang's pods.
  bool IsDue(const NamespacedName& gang, std::shared_ptr<const gather::GatheredGang> pods,
             PassReport& report);

 private:
  // When to ask about a gang next, and its pods at the last question.
  struct Asked {
    std::shared_ptr<const gather::GatheredGang> pods;
    std::int64_t next_ms = 0;  // steady
    std::int64_t wait_ms = 0;
    std::uint64_t round = 0;
  };

  const Clock& clock_;
  const std::size_t per_pass_;
  std::uint64_t round_ = 0;
  std::size_t left_ = 0;      // questions left in this pass
  std::int64_t turn_ms_ = 0;  // gangs that became due later wait for the next pass
  std::map<NamespacedName, Asked> asked_;
};

}  // namespace yardmaster::extender
