// A random history of a cluster under two extenders and two operators that are killed, stopped,
// cut off and answered late; and the shortest part of it that still breaks a promise.
//
// A history is a function of its seed: step i draws from a generator of its own, so that leaving
// steps out changes no other step's choice. What each step means still depends on what happened
// before it. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace yardmaster::chaos {

struct HistoryOptions {
  std::uint64_t seed = 1;
  int steps = 120;
  std::vector<bool> left_out = {};  // by step; empty: none
};

struct HistoryResult {
  std::string failure;            // empty: every promise held, and in the end everything was placed
  int failed_at = -1;             // the step; -1: in the end
  std::vector<std::string> told;  // what each step did, with what it led to
  int writes = 0;
  int takeovers = 0;  // of the extenders' lease
};

HistoryResult RunHistory(const HistoryOptions& options);

// Leaves out as many steps of a history that fails as it can, in at most `tries` runs.
HistoryOptions Shorten(HistoryOptions failing, int tries = 400);

}  // namespace yardmaster::chaos
