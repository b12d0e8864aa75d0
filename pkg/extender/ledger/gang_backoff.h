// GangBackoff records the gangs whose writes fail, and decides when each is tried again.
//
//   - After the first failure without an answer the gang is tried again at once. Every further
//     failure doubles the wait of this gang: from 250 ms to 10 s if there was no answer, from 500
//     ms to 2 min if the write was refused.
//   - While a gang waits, nothing is written for it and it is not planned, so it does not keep
//     hosts from the gangs behind it. A place for which other gangs were stopped stays kept.
//   - A pass that tries the gang without a failure resets its wait.
//
// Thread safety: one thread. Lifetimes: the clock outlives the object.
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

  // Begins a pass. Returns the gangs that wait during the whole pass.
  const std::set<NamespacedName>& Begin(PassReport& report);
  bool IsWaiting(const NamespacedName& gang) const { return waiting_.count(gang) != 0; }
  // Records a failed write in this pass, also for a Gang that does not exist yet. Conflicts and
  // deleted objects are not counted.
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
  std::map<NamespacedName, Failure> failed_;  // failed in this pass
};

}  // namespace yardmaster::extender
