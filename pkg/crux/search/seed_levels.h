// Computes the levels with which a search starts on newly chosen paths.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/crux/priority.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

// Returns the levels that the priority rule gives the jobs of `problem` on `paths`, by job: exact
// for up to six jobs; for more, compressed without improvements, because the search improves them.
// Deterministic.
std::vector<std::int32_t> SeedLevels(const Problem& problem, const Paths& paths,
                                     const CorrectionOptions& correction, std::int32_t levels);

}  // namespace yardmaster::crux
