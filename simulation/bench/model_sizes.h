// Models and sizes of the jobs recorded in test/data/lingjun-2023 (its README has origin and
// licence), as benchmarks draw from them. Reads a file of the source tree.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "simulation/simulator/trace_workload.h"

namespace yardmaster::bench {

// Rows without a size, and those of more GPUs than `max_gpus`, are left out. Empty where the file
// cannot be read.
std::vector<sim::ModelSize> ReadModelSizes(
    std::int32_t max_gpus = std::numeric_limits<std::int32_t>::max());

}  // namespace yardmaster::bench
