// When what happened to many hosts of a segment is one fault: of the ToR pair that all of them hang
// on, or of their power. The same rule, with the same limits, says so of a domain, whose hosts
// share a rack.
//
// A segment looks lost when at least `share` of its hosts, and `hosts` of them, are lost or faulty,
// and that began within `window_ms`. Hosts that went one by one over a longer time are faults of
// their own. It is acted on when it has looked so for `grace_ms` without a pause, which outlasts
// what a sensor loses for a moment. How many segments may be acted on, and when none may, is
// host_health.h's part.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace yardmaster::op {

struct SegmentLossLimits {
  double share = 0.75;
  int hosts = 3;
  std::int64_t window_ms = 120'000;
  std::int64_t grace_ms = 60'000;
  int segments = 1;  // acted on at a time; 0: never
  // Domains acted on at a time: the larger number; 0 domains: never.
  int domains = 2;
  double domain_share = 0.01;
};

enum class SegmentState {
  kUp,
  kSuspected,  // looks lost, not long enough
  kHeld,       // long enough, but a limit forbids acting on it
  kLost        // acted on, until all but few of its hosts are well again
};

struct SegmentVerdict {
  std::string name;  // "fabricPod/segment", of a domain "fabricPod/segment/domain"
  SegmentState state = SegmentState::kUp;
  std::int64_t since_ms = 0;  // when it began to look lost; steady clock
  std::int64_t again_ms = 0;  // kSuspected, kHeld: it is assessed again after this time
  std::string reason = {};    // kHeld
};

// When a segment of `hosts` hosts began to look lost, by the times at which its bad hosts went bad;
// nothing: it does not. O(n log n) of the bad hosts.
std::optional<std::int64_t> LossBegan(std::vector<std::int64_t> onsets_ms, int hosts,
                                      const SegmentLossLimits& limits);
// Whether a lost segment is up again: what is bad does not exceed what may be bad in one that is
// up.
bool IsUpAgain(int bad, int hosts, const SegmentLossLimits& limits);

}  // namespace yardmaster::op
