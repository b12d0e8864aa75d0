// Builds the tables of `get jobs` and `get segments`.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/cli/output/label_selector.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

using Table = std::vector<std::vector<std::string>>;

// Returns one row per gang, per TrainingJob without one, and per set of pods that is not a whole
// gang yet (gather/incomplete_gang.h), by namespace and name.
//
//   - `namespace_name` empty: all namespaces.
//   - GPUS are those of all workers. AGE is the time from the creation of the TrainingJob, else of
//     the Gang, to `now_ms` (wall time; 0: unknown).
//   - `wide`: also PRIORITY, PLAN, COST PER HOUR and SPENT, and reasons in full.
//   - `selector` applies to the labels of the TrainingJob, else of the Gang. Other sets have no
//     labels.
Table JobsTable(const state::ClusterState& cluster, const std::string& namespace_name,
                std::int64_t now_ms = 0, bool wide = false, const LabelSelector& selector = {});

// Returns one row per segment: its hosts, and how many are free, held, out and kept as backup. If
// hosts have domains, also the number of domains, and of those whose ordinary hosts are all free.
Table SegmentsTable(const state::ClusterState& cluster);

// Returns rows as objects, with keys from the header ("FABRIC POD": fabricPod). Whole numbers are
// numbers except in columns of names and texts; "-" is null.
nlohmann::json RowsAsJson(const Table& table);

}  // namespace yardmaster::cli
