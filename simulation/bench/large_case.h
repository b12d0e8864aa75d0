// A whole cluster for measuring speed: eight pods of HPN's size (15 segments of 128 hosts, 8 rails,
// 2 planes, 60 Aggs a plane; 122,880 GPUs), filled with `jobs` jobs.
//
// All hosts are cut into `jobs` contiguous stretches at random places. A job takes the hosts of its
// stretch that lie in the pod of its first host; the others stay empty. Each rail runs a ring over
// the job's hosts, and a hop between two segments may take any of 2 x 60 paths.
// Deterministic in (jobs, seed, traits). Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/crux/problem.h"

namespace yardmaster::bench {

struct LargeTraits {
  // The hosts of a job anywhere in its pod instead of in a row, so that most hops cross ToRs and
  // jobs contend; a hop between segments then has 14 or 16 candidates instead of 120, to bound the
  // memory.
  bool scattered = false;
};

crux::Problem LargeCase(std::int32_t jobs, std::uint64_t seed, const LargeTraits& traits = {});

}  // namespace yardmaster::bench
