// The changes between two states of a cluster as sentences, the page's list of events: gangs
// placed, moved and gone, or on another level; hosts that come, go, are ready or cordoned; jobs
// whose state changed.
//
// Deterministic. Complexity: O(objects that differ). Thread safety: pure functions.
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

// In the order hosts, gangs, TrainingJobs; at most kMaxChanges, the last of which then says how
// many are left out.
std::vector<TimelineEvent> ChangesBetween(const state::ClusterState& before,
                                          const state::ClusterState& after, std::int64_t now_ms);
inline constexpr std::size_t kMaxChanges = 50;

// The block "events": [{timeMs, warning, subject, text}], newest first.
Text EncodeEvents(const std::deque<TimelineEvent>& oldest_first);

}  // namespace yardmaster::page
