#include "simulation/bench/variants.h"

#include <cstddef>
#include <cstdint>

namespace yardmaster::bench {

bool Vary(std::string_view key, double value, crux::Options& options) {
  crux::AnytimeSearchOptions& search = options.search;
  const auto count = static_cast<std::size_t>(value);
  if (key == "budget") {
    search.event_budget = static_cast<std::int64_t>(value);
  } else if (key == "window") {
    search.window_iterations = value;
  } else if (key == "variants") {
    search.max_variants = count;
  } else if (key == "sets") {
    search.max_path_sets = count;
  } else if (key == "descents") {
    search.max_descents = count;
  } else if (key == "jobs") {
    search.max_jobs = count;
  } else if (key == "flows") {
    search.max_flows = count;
  } else if (key == "candidates") {
    search.max_candidates = static_cast<std::int32_t>(value);
  } else if (key == "max") {
    options.correction.max_factor = value;
  } else if (key == "load") {
    options.correction.full_load = value;
  } else if (key == "exponent") {
    options.correction.full_exponent = value;
  } else if (key == "published") {
    options.correction.published = value != 0;
  } else if (key == "stall") {
    options.moves.path_stall_seconds = value;
    options.moves.level_stall_seconds = 0.1 * value;
  } else if (key == "horizon") {
    options.moves.horizon_seconds = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace yardmaster::bench
