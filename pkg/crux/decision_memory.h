// DecisionMemory caches intermediate results of Decide between decisions, so that the arrival of a
// job does not require counting the traffic of all jobs again. The caller has one per cluster and
// passes it to every decision for that cluster, one after the other.
//
//   - The result does not depend on it: with a memory, a decision is bitwise equal to the decision
//     without one.
//   - The cache compares its content with the problem (incremental_load_cache.h), so callers never
//     invalidate it. Clear() frees its memory.
//   - It helps most if jobs keep their ids and order, links keep their numbers, and new links are
//     appended.
//
// Memory: O(flows + links). Thread safety: one thread.
#pragma once

#include <vector>

#include "pkg/crux/compression.h"
#include "pkg/crux/incremental_load_cache.h"
#include "pkg/crux/priority.h"

namespace yardmaster::crux {

struct DecisionMemory {  // only Decide reads and writes the fields
  IncrementalLoadCache draft;
  std::vector<KnownCorrection> corrections;  // by job
  KnownCuts cuts;

  void Clear() { *this = {}; }
};

}  // namespace yardmaster::crux
