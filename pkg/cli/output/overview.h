// Tables and texts about what is in a cluster: `get jobs`, `get segments`, `explain`. Pure.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/cli/output/label_selector.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/subject.h"

namespace yardmaster::cli {

using Table = std::vector<std::vector<std::string>>;

// One row per gang, per TrainingJob without one, and per set of pods that is not a whole gang yet
// (extender/gather/incomplete_gang.h), by namespace and name. `namespace_name` empty: all
// namespaces. GPUS are those of all workers; AGE is since the TrainingJob, else the Gang, was
// created until `now_ms` (wall time; 0: unknown). `wide`: also PRIORITY, PLAN, COST PER HOUR and
// SPENT, and reasons in full. `selector` is asked about the labels of the TrainingJob, else of the
// Gang; other sets have none.
Table JobsTable(const state::ClusterState& cluster, const std::string& namespace_name,
                std::int64_t now_ms = 0, bool wide = false, const LabelSelector& selector = {});

// One row per segment: its hosts, how many are free, held, out and kept as backup. Where hosts have
// domains also their number, and that of domains whose ordinary hosts are all free.
Table SegmentsTable(const state::ClusterState& cluster);

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

// Rows as objects, keys from the header ("FABRIC POD": fabricPod); whole numbers are numbers except
// in columns of names and texts, "-" is null.
nlohmann::json RowsAsJson(const Table& table);

}  // namespace yardmaster::cli
