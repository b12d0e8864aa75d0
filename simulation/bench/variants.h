// Production configurations of Crux that differ in one number, for benchmarks.
#pragma once

#include <string_view>

#include "pkg/crux/decide.h"

namespace yardmaster::bench {

// Keys: budget window variants sets descents jobs flows candidates (AnytimeSearchOptions); max load
// exponent published (CorrectionOptions); stall horizon (MoveOptions; the stall of other levels is
// a tenth). Returns false when `key` is unknown.
bool Vary(std::string_view key, double value, crux::Options& options);

}  // namespace yardmaster::bench
