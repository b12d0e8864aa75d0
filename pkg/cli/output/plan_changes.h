// Reports what a what-if plan changes, as the field `changes` of a PlanReport and as a table.
//
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/cli/output/plan_report.h"
#include "pkg/netplan/diff.h"

namespace yardmaster::cli {

// {"moved": [{"job", "rank", "from", "to"}], "levels": [{"job", "from", "to"}],
//  "ports": [{"job", "from", "to", "before", "after"}]}; null where there was or will be none.
nlohmann::json ChangesJson(const netplan::PlanDiff& diff, const ReportNames& names);

// Returns a header and one row per job: ranks that get a place, lose it and move, level, ports.
std::vector<std::vector<std::string>> ChangesTable(const nlohmann::json& changes);

}  // namespace yardmaster::cli
