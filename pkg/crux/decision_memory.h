// What Decide keeps from one decision to the next, so that an arrival costs what it changes and not
// what there is. Hold one per cluster and hand it to every decision of it, one after the other.
//
// The answer does not depend on it: for every problem, options and history a decision with a memory is,
// to the bit, the decision without. It is a cache that checks what it holds (kept_draft.h), so nothing
// has to be told to it and nothing makes it invalid. It helps most where jobs keep their ids and order
// and links their numbers; new links come behind those known. Clear() frees what it holds.
//
// Memory: about 150 bytes a flow and 40 a link. Thread safety: single threaded.
#pragma once

#include <vector>

#include "pkg/crux/compression.h"
#include "pkg/crux/kept_draft.h"
#include "pkg/crux/priority.h"

namespace yardmaster::crux {

struct DecisionMemory {  // for Decide alone to look into
  KeptDraft draft;
  std::vector<KnownCorrection> corrections;  // by job
  KnownCuts cuts;

  void Clear() { *this = {}; }
};

}  // namespace yardmaster::crux
