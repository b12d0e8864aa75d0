// Gangs that are left alone because they cannot be handled, so that the rest goes on.
//
// A gang comes here when its Gang object cannot be read in full, or when its handling throws: an
// exception is an unforeseen defect of this program, and a defect in one gang must not stop the
// planner for the others. Such a gang is neither planned nor released. The hosts that its status
// names, also those that others leave for it, are treated as full. Its handling is tried again after a minute, which doubles with every failure up to
// an hour. The wait begins anew when the gang has not failed for as long as its last wait. An object that
// could not be read is read again when it changes.
//
// Thread safety: one thread. Lifetimes: the clock outlives it.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/extender/ledger/pass.h"

namespace yardmaster::extender {

class Quarantine {
 public:
  Quarantine(const Clock& clock, Notify notify) : clock_(clock), notify_(std::move(notify)) {}

  // Marks in `pass.quarantined` every gang that is still left alone. REQUIRES: pass.gangs.
  void Begin(PassState& pass);
  // Runs the handling of one gang. False: it threw, and the gang is in quarantine now.
  template <typename Handling>
  bool Contain(PassState& pass, const NamespacedName& gang, const char* what, Handling&& handling) {
    try {
      handling();
      return true;
    } catch (const std::exception& error) {
      Add(pass, gang, what, error.what());
    } catch (...) {
      Add(pass, gang, what, "an unknown exception");
    }
    return false;
  }
  void Add(PassState& pass, const NamespacedName& gang, const char* what, const std::string& error);
  // Marks the hosts of these gangs as full in the snapshot.
  static void OccupyHosts(PassState& pass);

 private:
  struct Entry {
    std::string reason;
    std::int64_t until_ms = 0;  // steady
    std::int64_t wait_ms = 0;
  };

  void Mark(PassState& pass, const NamespacedName& gang, const std::string& reason);

  const Clock& clock_;
  const Notify notify_;
  std::map<NamespacedName, Entry> entries_;
  std::map<NamespacedName, std::string> reported_;
};

}  // namespace yardmaster::extender
