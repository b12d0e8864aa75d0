// Tables of what is in a cluster: `get jobs`, `get segments`.
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

// Rows as objects, keys from the header ("FABRIC POD": fabricPod); whole numbers are numbers except
// in columns of names and texts, "-" is null.
nlohmann::json RowsAsJson(const Table& table);

}  // namespace yardmaster::cli
