// Implements `explain`: the state of one job and its cause, in words.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/state/cluster_state.h"
#include "pkg/state/subject.h"

namespace yardmaster::cli {

// Returns the job of this name: a TrainingJob, another owner or a Gang. The result points into
// `cluster`. Errors: NotFound, with similar names.
absl::StatusOr<state::Subject> FindSubject(const state::ClusterState& cluster,
                                           const std::string& namespace_name,
                                           const std::string& job);

// Returns the state of a job and its cause, in words: its placement by segment, its network
// numbers, or what is missing and what would help, from a new plan of this state. `job`: the name
// of a TrainingJob, of a Gang, or of the owner of pods that are not a whole gang yet or do not ask
// for one. Errors: NotFound, with similar names.
absl::StatusOr<std::string> Explain(const state::ClusterState& cluster,
                                    const std::string& namespace_name, const std::string& job);

// Returns the same as an object: `namespace`, `name`, `kind`, `state`, `lines` (the text), and
// `trainingJob` and `gang` if they exist. Errors: as Explain.
absl::StatusOr<nlohmann::json> ExplainAsJson(const state::ClusterState& cluster,
                                             const std::string& namespace_name,
                                             const std::string& job);

}  // namespace yardmaster::cli
