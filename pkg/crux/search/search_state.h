// SearchState is what a search over schedules changes: the path of each flow, and the level of each
// job.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct SearchState {
  Paths paths;
  std::vector<std::int32_t> levels;
  bool operator==(const SearchState&) const = default;
};

}  // namespace yardmaster::crux
