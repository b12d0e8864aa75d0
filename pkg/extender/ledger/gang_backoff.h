// Gangs whose writes fail, and when each is tried again: at once after a first failure without an
// answer, and then every failure doubles the wait of that gang alone, from 250 ms up to 10 s where
// there was no answer and from 500 ms up to 2 min where the write was refused. While it waits,
// nothing is written for it and it is not planned, so that it keeps no host from the gangs behind
// it, except a place that others were stopped for. A gang that was tried without a failure starts
// again.
//
// Thread safety: one thread. Lifetimes: the clock outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "absl/status/status.h"

#include "pkg/base/clock.h"
#include "pkg/base/namespaced_name.h"
#include "pkg/extender/ledger/pass_report.h"

namespace yardmaster::extender {

class GangBackoff {
 public:
  explicit GangBackoff(const Clock& clock) : clock_(clock) {}

  // Begins a pass: the gangs that wait during all of it.
  const std::set<NamespacedName>& Begin(PassReport& report);
  bool IsWaiting(const NamespacedName& gang) const { return waiting_.count(gang) != 0; }
  // A failed write of this pass, also of what is no Gang yet. What another write explains, a
  // conflict or an object that is gone, does not count.
  void NoteFailure(const NamespacedName& gang, const absl::Status& status);
  void End(PassReport& report);

 private:
  struct Entry {
    std::int64_t wait_ms = 0;
    std::int64_t until_ms = 0;  // steady
  };
  enum class Failure { kTransient, kDenied };

  const Clock& clock_;
  std::map<NamespacedName, Entry> entries_;
  std::set<NamespacedName> waiting_;
  std::map<NamespacedName, Failure> failed_;  // in this pass
};

}  // namespace yardmaster::extender
