// A whole cluster for measuring speed: eight pods of HPN's size (15 segments of 128 hosts, 8 rails,
// 2 planes, 60 Aggs a plane; 122,880 GPUs), filled with `jobs` jobs.
//
// Jobs take contiguous hosts, sizes drawn so that the fabric is full; each rail runs a ring over
// the job's hosts, and a hop between two segments may take any of 2 x 60 paths. Hops across pods
// would go through the core, which placement avoids; such a ring is closed inside its pod.
// Deterministic in (jobs, seed). Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/crux/problem.h"

namespace yardmaster::bench {

struct LargeTraits {
  // The hosts of a job anywhere in its pod instead of in a row, so that every hop crosses ToRs and jobs
  // contend; each flow then has 16 candidates instead of 120, to bound the memory.
  bool scattered = false;
};

crux::Problem LargeCase(std::int32_t jobs, std::uint64_t seed, const LargeTraits& traits = {});

}  // namespace yardmaster::bench
