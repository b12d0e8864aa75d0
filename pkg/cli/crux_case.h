// The case file of `kubectl yardmaster crux` and its answer, as JSON (docs/crux.md shows both).
//
// Reading is strict: an unknown key, a wrong type or a value out of range is an InvalidArgument
// whose text begins with the JSON path, e.g. `jobs[1].flows[0].paths[0][2]: unknown link "l9";
// declare it under links`. Left out: `levels` is 8, `communicationStart` is 1, a flow's id is f and
// its index, its `communicationStart` the job's, `everyIterations` 1 and `background` false. A path
// may not use a link twice, and every job has at least one flow.
// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "pkg/crux/problem.h"

namespace yardmaster::cli {

absl::StatusOr<crux::Problem> ParseCruxCase(const nlohmann::json& value);

// The text of a case file, JSON or YAML; `name` is what errors call it.
absl::StatusOr<crux::Problem> ReadCruxCase(std::string_view text, std::string_view name);

nlohmann::json CruxAnswer(const crux::Problem& problem, const crux::Solution& solution,
                          double utilisation);

}  // namespace yardmaster::cli
