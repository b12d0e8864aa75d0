// Builds the events about a gang: one on its owner, where the fault can be fixed, and one on the
// first of its pods, where users look when pods stay pending.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/extender/ledger/pass_report.h"
#include "pkg/gather/gather.h"

namespace yardmaster::extender {

// Returns `on_owner` and its copy for the first pod. `pods`: null or without members if the gang
// has none.
std::vector<ObjectNotice> OnOwnerAndPod(ObjectNotice on_owner, const gather::GatheredGang* pods);

}  // namespace yardmaster::extender
