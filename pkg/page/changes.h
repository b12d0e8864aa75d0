// The changes between two states of a cluster as sentences, the page's list of events: gangs placed,
// moved and gone, hosts lost and back, jobs whose state changed.
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
  std::string subject;  // "job/NS/GANG", "host/NAME", "fabric/NAME"
  std::string text;
};

// In the order hosts, gangs, TrainingJobs; at most kMaxChanges, the last of which then says how many
// are left out.
std::vector<TimelineEvent> ChangesBetween(const state::ClusterState& before,
                                          const state::ClusterState& after, std::int64_t now_ms);
inline constexpr std::size_t kMaxChanges = 50;

// The block "events": [{timeMs, warning, subject, text}], newest first.
Text EncodeEvents(const std::deque<TimelineEvent>& oldest_first);

}  // namespace yardmaster::page
