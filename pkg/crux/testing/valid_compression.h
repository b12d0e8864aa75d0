// Checks the invariant of every compression.
//
// Thread safety: pure function.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

// Whether no edge leads to a higher level than it comes from.
inline bool IsValidCompression(std::span<const ContentionEdge> edges,
                               std::span<const std::int32_t> levels) {
  return std::all_of(edges.begin(), edges.end(), [&](const ContentionEdge& edge) {
    return levels[edge.to.index()] <= levels[edge.from.index()];
  });
}

}  // namespace yardmaster::crux
