// Checks whether the state of the cluster that a process knows is recent enough to answer from.
//
// Two times are checked, because each can fail alone: the last answer of the API server to any call
// (with leader election every few seconds), and the last event of the watch that has been silent
// for longest (the API server sends a bookmark about once a minute).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace yardmaster::app {

struct StalenessLimits {
  std::int64_t answer_ms = 20'000;
  std::int64_t watch_ms = 150'000;
};

// Steady times; -1: none yet.
struct LastContact {
  std::int64_t answer_ms = -1;
  std::int64_t watch_ms = -1;
};

// Errors: Unavailable, with what has been silent, for how long, and the limit.
absl::Status CheckStaleness(const LastContact& contact, const StalenessLimits& limits,
                            std::int64_t now_ms);

// Returns the seconds since `last_ms`, or since the start of the process if that is -1.
double SilenceSeconds(std::int64_t last_ms, std::int64_t began_ms, std::int64_t now_ms);

}  // namespace yardmaster::app
