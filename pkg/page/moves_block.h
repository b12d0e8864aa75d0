// Encodes the page's block of proposed moves (plan/rebalance):
//
//   moves          [{job, from: [SEGMENT], to: [SEGMENT], hosts, priceGpuSeconds, gainGpuSeconds,
//                  admits: [NS/GANG], why}], in the order of execution, at most 100. job and admits
//                  are keys NS/GANG; admits: gangs that would then start; hosts: how many ranks
//                  change their host
//
// Thread safety: pure function.
#pragma once

#include "pkg/page/frame.h"
#include "pkg/plan/rebalance/rebalance.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::page {

// REQUIRES: `proposed` was computed from `snapshot`, or is empty.
Text EncodeMoves(const plan::Rebalancing& proposed, const plan::Snapshot& snapshot);

}  // namespace yardmaster::page
