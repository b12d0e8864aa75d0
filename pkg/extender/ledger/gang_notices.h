// Events about a gang: on its owner, where it can be mended, and on one of its pods, where people
// look first when pods stay pending. One pod stands for all.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/extender/ledger/pass_report.h"
#include "pkg/gather/gather.h"

namespace yardmaster::extender {

// `on_owner`, and the same on the first pod. `pods`: null or without members: there is none.
std::vector<ObjectNotice> OnOwnerAndPod(ObjectNotice on_owner, const gather::GatheredGang* pods);

}  // namespace yardmaster::extender
