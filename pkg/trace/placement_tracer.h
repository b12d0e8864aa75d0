// Which spans of gangs' places are new since the last look: the extender's part of a job's trace.
//
// Look compares the Gangs with those of the look before, so it costs what has changed. A process
// that begins to lead calls it without any: the first look has the spans that ended in the last
// kRepeatMs, because the leader before may not have sent them. What is sent twice has the same id.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/state/cluster_state.h"
#include "pkg/trace/job_spans.h"
#include "pkg/trace/span.h"

namespace yardmaster::trace {

// Longer than a lease lasts and a new leader needs for its first pass.
inline constexpr std::int64_t kRepeatMs = 300'000;

class PlacementTracer {
 public:
  // `pass` made what is new in `state` since the last look.
  std::vector<Span> Look(const state::ClusterState& state, const PassTimes& pass);
  // This process does not lead.
  void Forget() { *this = {}; }

 private:
  void Note(const api::Gang* before, const api::Gang& gang, const state::ClusterState& state,
            const PassTimes& pass, std::vector<Span>& out);

  bool looked_ = false;
  state::ObjectTable<api::Gang> gangs_;        // of the last look
  std::map<std::string, std::int64_t> since_;  // by uid: when a gang without hosts began to wait
};

// The TrainingJob whose Gang this is, or null.
const api::TrainingJob* JobOf(const api::Gang& gang, const state::ClusterState& state);
// When a gang that has hosts began to wait for them. `known`: what was noted while it waited, or 0.
// 0: not known.
std::int64_t WaitedSince(const api::Gang& gang, const api::TrainingJob* job, std::int64_t known_ms);

}  // namespace yardmaster::trace
