// Simulates flows that carry bytes over given links and may change their path meanwhile, to measure
// what a set of paths is worth and what a failure costs.
//
// Model: a fluid; at every instant the links share their bandwidth max-min fairly
// (simulation/simulator/fair_share.h). A flow runs on its current leg until its next one begins; a
// leg without links carries nothing. No queues, no congestion control, no retransmissions.
// Complexity: O(events x P log P), events being instants at which a leg begins or a flow ends, P
// the links of all paths. Deterministic. Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/fabric/link_path.h"
#include "pkg/fabric/network.h"

namespace yardmaster::bench {

struct TransferLeg {
  double start_seconds = 0;
  fabric::LinkPath links;  // empty: the flow stands still
};

struct TransferFlow {
  double bytes = 0;
  std::vector<TransferLeg> legs;  // by start, the first at 0
};

struct TransferResult {
  double finish_seconds = 0;  // the end of the window if it did not finish
  double delivered_bytes = 0;
  double stalled_seconds = 0;  // on legs without links
  double last_gbps = 0;        // the rate when it finished or the window ended
};

// REQUIRES: bytes and window above 0.
std::vector<TransferResult> RunTransfers(const fabric::Network& network,
                                         const std::vector<TransferFlow>& flows,
                                         double window_seconds);

}  // namespace yardmaster::bench
