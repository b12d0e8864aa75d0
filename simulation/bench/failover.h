// The paths of flows after links died, under three ways of recovery, as legs for transfer.h.
//
// Problem: at time 0 some cables go dead. Until routing notices (`reconverge_seconds`) switches go
// on sending into them; then groups shrink and nearly every port hashes elsewhere. Ways:
//   kAlternatePort   the sender notices after `detect_seconds` and takes the port computed before
//                    the failure (Replan with the cables avoided); when routing has noticed, it
//                    takes the ports computed for the smaller groups, `detect_seconds` later
//   kRandomRetry     a flow that stands still draws a random source port every `retry_seconds`, as
//                    Google's PRR does with the flow label, until one leads round; the
//                    sender does not know the load of where it lands
//   kReconvergence   the sender waits for routing and keeps its port
// All three begin with the same plan. With isolated planes no port and no routing leads round a
// dead NIC port: only the first way leaves by the other one.
//
// Thread safety: pure functions. Determinism: everything random comes from `random`.
#pragma once

#include <memory>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/repac/path_planner.h"
#include "simulation/bench/transfer.h"

namespace yardmaster::bench {

enum class Recovery { kAlternatePort, kRandomRetry, kReconvergence };

struct FailoverTiming {
  double detect_seconds = 0;
  double retry_seconds = 0;
  double reconverge_seconds = 0;
};

// REQUIRES: detect_seconds < reconverge_seconds, seconds above 0; `plan` is the plan of
// `connections` with everything up, all of it planned and predictable. The `bytes` of the flows
// returned are 1e30, more than any window carries.
std::vector<TransferFlow> LegsAfterFailure(const repac::PathPlan& plan,
                                           const std::vector<repac::NicConnection>& connections,
                                           const fabric::Network& network,
                                           const std::shared_ptr<const repac::SwitchHashes>& hashes,
                                           const std::vector<fabric::CableId>& dead,
                                           Recovery recovery, const FailoverTiming& timing,
                                           Random& random);

}  // namespace yardmaster::bench
