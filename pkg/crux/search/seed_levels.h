// The levels with which a search starts on paths it has just chosen.
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/crux/priority.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

// The levels that the priority rule gives the jobs of `problem` on `paths`, by job: exact among up
// to six jobs, compressed by orders without improvements among more, since the search improves
// them itself. Deterministic.
std::vector<std::int32_t> SeedLevels(const Problem& problem, const Paths& paths,
                                     const CorrectionOptions& correction, std::int32_t levels);

}  // namespace yardmaster::crux
