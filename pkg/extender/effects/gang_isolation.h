// Gangs that are left alone because they cannot be handled, so that the rest goes on.
//
// A gang comes here when its Gang object cannot be read in full, or when its handling throws: an
// exception is an unforeseen defect of this program, and a defect in one gang must not stop the
// planner for the others. Such a gang is neither planned nor released. The hosts that its status
// names, also those that others leave for it, are held (facts/planning_snapshot.h). Its handling is
// tried again after a minute, which doubles with every failure up to an hour. The wait begins again
// when the gang has not failed for as long as its last wait. An object that could not be read is
// read again when it changes.
//
// Thread safety: one thread. Lifetimes: the clock outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/extender/facts/pass_facts.h"
#include "pkg/extender/ledger/pass_report.h"

namespace yardmaster::extender {

class GangIsolation {
 public:
  GangIsolation(const Clock& clock, Notify notify) : clock_(clock), notify_(std::move(notify)) {}

  // Fills facts.isolated at the start of a pass, and reports each. REQUIRES: facts.gangs and
  // gathered.
  void Begin(PassFacts& facts, PassReport& report);
  // The reason, which is reported.
  std::string Add(const NamespacedName& gang, const std::string& what, const std::string& error,
                  const PassFacts& facts, PassReport& report);

 private:
  struct Entry {
    std::string reason;
    std::int64_t until_ms = 0;  // steady
    std::int64_t wait_ms = 0;
  };

  // A problem of the pass, and an event on owner and pod once.
  void Report(const NamespacedName& gang, const std::string& reason, const PassFacts& facts,
              PassReport& report);

  const Clock& clock_;
  const Notify notify_;
  std::map<NamespacedName, Entry> entries_;
  std::map<NamespacedName, std::string> reported_;
};

}  // namespace yardmaster::extender
