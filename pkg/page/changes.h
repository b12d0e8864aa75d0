// Describes the changes between two states of a cluster in sentences, for the page's list of
// events: gangs that are placed, moved or gone, or have another level; hosts that appear,
// disappear, become ready or are cordoned; jobs whose state changes.
//
// Complexity: O(objects that differ). Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "pkg/page/frame.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::page {

struct TimelineEvent {
  std::int64_t time_ms = 0;
  bool warning = false;
  // "job/NS/GANG", "host/NAME", "fabric/NAME"; empty: several objects
  std::string subject;
  std::string text;
};

// Returns the changes of hosts, gangs and TrainingJobs, in this order. If there are more than
// kMaxChanges, the last one says how many are left out.
std::vector<TimelineEvent> ChangesBetween(const state::ClusterState& before,
                                          const state::ClusterState& after, std::int64_t now_ms);
inline constexpr std::size_t kMaxChanges = 50;

// Encodes the block "events": [{timeMs, warning, subject, text}], newest first.
Text EncodeEvents(const std::deque<TimelineEvent>& oldest_first);

}  // namespace yardmaster::page
