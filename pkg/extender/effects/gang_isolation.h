// GangIsolation records the gangs that the planner must leave alone because they cannot be handled,
// so that the other gangs are still planned.
//
//   - A gang is isolated if its Gang object cannot be read in full, or if handling it throws: an
//     exception is an unforeseen defect of the program.
//   - An isolated gang is neither planned nor released. The hosts that its status names, and those
//     that other gangs leave for it, stay held (facts/planning_snapshot.h).
//   - After an exception the gang is tried again after one minute; the wait doubles with every
//     failure, up to one hour. It starts again at one minute if the gang has not failed for as long
//     as its last wait.
//   - A Gang object that cannot be read is read again when it changes.
//
// Thread safety: one thread. Lifetimes: the clock outlives the object.
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

  // Fills facts.isolated at the start of a pass and reports each entry. REQUIRES: facts.gangs and
  // facts.gathered are set.
  void Begin(PassFacts& facts, PassReport& report);
  // Isolates a gang and reports it. Returns the reason.
  std::string Add(const NamespacedName& gang, const std::string& what, const std::string& error,
                  const PassFacts& facts, PassReport& report);

 private:
  struct Entry {
    std::string reason;
    std::int64_t until_ms = 0;  // steady
    std::int64_t wait_ms = 0;
  };

  // Adds a problem to the report, and emits the event on owner and pod once.
  void Report(const NamespacedName& gang, const std::string& reason, const PassFacts& facts,
              PassReport& report);

  const Clock& clock_;
  const Notify notify_;
  std::map<NamespacedName, Entry> entries_;
  std::map<NamespacedName, std::string> reported_;
};

}  // namespace yardmaster::extender
