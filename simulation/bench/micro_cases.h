// The small clusters of the paper's micro benchmark (section 4.4): at most 20 hosts of 8 GPUs under
// 2 to 4 ToRs and 2 Aggs, five jobs on hosts of their own, three levels.
//
// What the paper leaves open and we fix: ToR-Agg links have 400 Gbit/s, a host more than that. A
// job has 2 to 4 hosts under two ToRs drawn at random and runs one ring over them, or two with half
// of the bytes each; a ring goes there and back over one of the two Aggs, which is the choice to
// make. (Hops inside a ToR end sooner and share no link; they are left out.) Compute time,
// overlap, bytes and FLOP per GPU are drawn uniformly; all bytes over one uplink alone take an
// eighth to all of the compute time.
//
// The paper leaves two things out that can be added (they change nothing else of a case):
//   several starts  of each ring a tenth to a half of the bytes is sent early, from a start drawn
//                   in the first 30 % of compute on (activations), the rest as before (gradients)
//   storage         each job either writes a checkpoint every 4 to 16 iterations, which takes an
//                   uplink 0.5 to 2 times its compute time, and waits for it or does not; or loads
//                   data in the background of every iteration, 0.05 to 0.2 times its compute time;
//                   over one of the Aggs, to or from the ToR of the storage, drawn among the others
//                   for each job
//
// Deterministic in `seed`. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/crux/problem.h"

namespace yardmaster::bench {

struct MicroTraits {
  bool several_starts = false;
  bool storage = false;
};

crux::Problem MicroCase(std::uint64_t seed, const MicroTraits& traits = {});

}  // namespace yardmaster::bench
