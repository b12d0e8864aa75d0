// When a cable that came back is used again.
//
// Problem: 5,000 to 60,000 links of a large fabric flap every day (HPN section 2.3). Moving flows
// away immediately is right, moving them back immediately is not. Method: a cable is usable after
// it has been up for a hold time; every loss within the memory doubles that time up to a limit, and
// a quiet memory halves it again. Determinism: a function of the observations. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pkg/fabric/network.h"

namespace yardmaster::repac {

struct DampingOptions {
  std::int64_t hold_ms = 30'000;
  std::int64_t max_hold_ms = 1'800'000;
  // A cable that stayed up that long loses one doubling.
  std::int64_t memory_ms = 600'000;
};

class FlapDamper {
 public:
  explicit FlapDamper(DampingOptions options) : options_(options) {}

  // A report. Times must not go back. Reports that change nothing do nothing.
  void Observe(fabric::CableId cable, bool up, std::int64_t now_ms);
  bool Usable(fabric::CableId cable, std::int64_t now_ms) const;
  // Cables that are not usable, ascending.
  std::vector<fabric::CableId> Avoided(std::int64_t now_ms) const;
  // When the next avoided cable becomes usable if nothing else happens; -1: none will.
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
