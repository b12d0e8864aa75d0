// The case file of `kubectl yardmaster crux` and its answer, as JSON (docs/crux.md shows both).
//
// Reading is strict: an unknown key, a wrong type or a value out of range is an InvalidArgument
// whose text begins with the JSON path, e.g. `jobs[1].flows[0].paths[0][2]: unknown link "l9";
// declare it under links`. Left out: `levels` is 8, `communicationStart` is 1, a flow's id is f and
// its index, its `communicationStart` the job's, `everyIterations` 1, `background` false, and it
// has no `ring`. A path may not use a link twice, and every job has at least one flow.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "pkg/crux/problem.h"

namespace yardmaster::sim {

absl::StatusOr<crux::Problem> ParseCruxCase(const nlohmann::json& value);

// The text of a case file, JSON or YAML; `name` is what errors call it.
absl::StatusOr<crux::Problem> ReadCruxCase(std::string_view text, std::string_view name);

// The same case with jobs, flows and links in the order of their ids, so that the order in a file,
// by which ties would be broken, does not matter.
struct CanonicalCase {
  crux::Problem problem;
  std::vector<std::int32_t> jobs;                // in the file, by place in `problem`
  std::vector<std::vector<std::int32_t>> flows;  // the same for each of those jobs
};
CanonicalCase Canonical(const crux::Problem& problem);

// REQUIRES: `solution` is one of canonical.problem.
crux::Solution InOrderOfTheFile(const CanonicalCase& canonical, crux::Solution solution);

nlohmann::json CruxAnswer(const crux::Problem& problem, const crux::Solution& solution,
                          double utilisation);

}  // namespace yardmaster::sim
