// Gangs whose writes fail, and when each is tried again: at once after a first failure without an
// answer, and then every failure doubles the wait of that gang alone, up to 10 s where there was no
// answer and 2 min where the write was refused. While it waits,
// its pods are not released and it is not planned, so that it keeps no host from the gangs behind it,
// except a place that others were stopped for.
//
// Thread safety: one thread. Lifetimes: the clock outlives it.
#pragma once

#include <cstdint>
#include <map>

#include "absl/status/status.h"

#include "pkg/base/clock.h"
#include "pkg/extender/ledger/pass.h"

namespace yardmaster::extender {

// Notes a failed write of a gang. What another write explains, a conflict or an object that is gone,
// is not one. Also for gangs without a Gang.
void NoteFailure(PassState& pass, const NamespacedName& gang, const absl::Status& status);

class GangBackoff {
 public:
  explicit GangBackoff(const Clock& clock) : clock_(clock) {}

  // Fills pass.backing_off.
  void Begin(PassState& pass);
  // Reads pass.failed. A gang that was tried without a failure starts anew.
  void End(PassState& pass);

 private:
  struct Entry {
    std::int64_t wait_ms = 0;
    std::int64_t until_ms = 0;  // steady
  };

  const Clock& clock_;
  std::map<NamespacedName, Entry> entries_;
};

}  // namespace yardmaster::extender
