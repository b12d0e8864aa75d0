// What Decide keeps from one decision to the next, so that an arrival does not count the traffic of
// all jobs again. Hold one per cluster and pass it to every decision for that cluster, one after
// the other.
//
// The answer does not depend on it: for every problem, options and history a decision with a memory
// is, to the bit, the decision without. It is a cache that compares what it holds with the problem
// (incremental_load_cache.h), so callers never have to invalidate it. It helps most where jobs keep
// their ids and order and links their numbers, and new links are appended. Clear() frees what it
// holds.
//
// Memory: O(flows + links). Thread safety: single threaded.
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
