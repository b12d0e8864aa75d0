// Decides when failures of many hosts of a segment are one fault, of the ToR pair that all of them
// share or of their power. The same rule applies to a domain, whose hosts share a rack.
//
// A segment looks lost if at least `share` of its hosts, and at least `hosts` of them, are lost or
// faulty, and this began within `window_ms`. Hosts that failed one by one over a longer time are
// separate faults. The operator acts once the segment has looked lost for `grace_ms` without a
// pause, which is longer than momentary gaps of the reports. host_health.h limits how many segments
// are acted on.
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
  int segments = 1;  // maximum acted on at a time; 0: none
  // Maximum of domains acted on at a time: the larger of the two numbers; 0 domains: none.
  int domains = 2;
  double domain_share = 0.01;
};

enum class SegmentState {
  kUp,
  kSuspected,  // looks lost, but not long enough
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

// Returns when a segment of `hosts` hosts began to look lost, from the times at which its bad hosts
// went bad; nullopt: it does not look lost. O(n log n) in the bad hosts.
std::optional<std::int64_t> LossBegan(std::vector<std::int64_t> onsets_ms, int hosts,
                                      const SegmentLossLimits& limits);
// True if a lost segment is up again: no more of its hosts are bad than may be bad in a segment
// that is up.
bool IsUpAgain(int bad, int hosts, const SegmentLossLimits& limits);

}  // namespace yardmaster::op
