// The block of moves that are proposed (plan/rebalance), as the page shows it.
//
//   moves          [{job, from: [SEGMENT], to: [SEGMENT], hosts, priceGpuSeconds, gainGpuSeconds,
//                  admits: [NS/GANG], why}]: in the order in which they are made; job and the gangs
//                  that would start then are keys NS/GANG; hosts: how many ranks change theirs;
//                  the first 100 moves
//
// Thread safety: pure function.
#pragma once

#include "pkg/page/frame.h"
#include "pkg/plan/rebalance/rebalance.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::page {

// REQUIRES: `proposed` was made of `snapshot`, or is empty.
Text EncodeMoves(const plan::Rebalancing& proposed, const plan::Snapshot& snapshot);

}  // namespace yardmaster::page
