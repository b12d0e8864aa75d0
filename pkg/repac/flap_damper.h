// FlapDamper decides when a cable that is up again may be used.
//
// Problem: 5,000 to 60,000 links of a large fabric flap every day (HPN section 2.3). Flows should
// leave a lost cable immediately, but should not return immediately.
//
// Method: a cable is usable after it has been up for a hold time. Every loss doubles that time, up
// to a limit. Every `memory_ms` without a loss undoes one doubling.
//
// Determinism: a function of the observations. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pkg/fabric/network.h"

namespace yardmaster::repac {

struct DampingOptions {
  std::int64_t hold_ms = 30'000;
  std::int64_t max_hold_ms = 1'800'000;
  // A cable that stays up for this time loses one doubling.
  std::int64_t memory_ms = 600'000;
};

class FlapDamper {
 public:
  explicit FlapDamper(DampingOptions options) : options_(options) {}

  // Records a report. A report without a change has no effect. REQUIRES: times do not decrease.
  void Observe(fabric::CableId cable, bool up, std::int64_t now_ms);
  bool Usable(fabric::CableId cable, std::int64_t now_ms) const;
  // Returns the cables that are not usable, ascending.
  std::vector<fabric::CableId> Avoided(std::int64_t now_ms) const;
  // Returns when the next avoided cable becomes usable without further reports; -1: none.
  std::int64_t NextChangeMs(std::int64_t now_ms) const;

 private:
  struct State {
    bool up = true;
    std::int64_t since_ms = 0;
    int losses = 0;
  };
  std::int64_t HoldMs(const State& state) const;

  DampingOptions options_;
  std::map<fabric::CableId, State> states_;  // only cables that were ever down
};

}  // namespace yardmaster::repac
