// The state of one job and its cause, in words: `explain`.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/state/cluster_state.h"
#include "pkg/state/subject.h"

namespace yardmaster::cli {

// The job of that name: a TrainingJob's, another owner's or a Gang's. Errors: NotFound that names
// what is near. The answer points into `cluster`.
absl::StatusOr<state::Subject> FindSubject(const state::ClusterState& cluster,
                                           const std::string& namespace_name,
                                           const std::string& job);

// The state of a job and its cause, in words: its placement by segment, its network numbers, or
// what is missing and what would help, planned again on this state. `job` is the name of a
// TrainingJob, of a Gang, or of the owner of pods that are not a whole gang yet or ask for none.
// Errors: NotFound that names what is near.
absl::StatusOr<std::string> Explain(const state::ClusterState& cluster,
                                    const std::string& namespace_name, const std::string& job);

// The same as an object: `namespace`, `name`, `kind`, `state`, `lines` (the text), and the objects
// `trainingJob` and `gang` where there are any. Errors: as Explain.
absl::StatusOr<nlohmann::json> ExplainAsJson(const state::ClusterState& cluster,
                                             const std::string& namespace_name,
                                             const std::string& job);

}  // namespace yardmaster::cli
