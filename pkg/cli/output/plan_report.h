// Converts a plan to JSON (kind PlanReport, the contract of `plan -o json`) and to a table.
//
// Thread safety: values and pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/gather/incomplete_gang.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/plan/planner.h"

namespace yardmaster::cli {

// The name and kind by which users know a job, not those of its Gang.
struct ReportName {
  std::string kind;
  std::string name;
};
using ReportNames = std::map<NamespacedName, ReportName>;

// `with_paths`: whether the report has the lists `paths`, `answers` and `uplinks`, which may be
// empty.
nlohmann::json PlanReport(const plan::Snapshot& snapshot, const plan::Plan& plan,
                          const netplan::NetworkPlan& network, const ReportNames& names,
                          bool with_paths);

// Returns an entry of `jobs` for a job that contradicts itself and was not planned.
nlohmann::json InvalidJob(const std::string& namespace_name, const ReportName& name,
                          const std::vector<std::string>& problems);
// Returns an entry for pods that are not a whole gang. `pods`: how many exist and how many are
// wanted.
nlohmann::json IncompleteJob(const gather::IncompleteGang& gang);

// Returns an entry for a job that runs and is not moved.
nlohmann::json JobLeftAlone(const NamespacedName& gang, const ReportName& name,
                            const std::vector<api::AssignmentEntry>& assignments,
                            const std::string& why);

// Returns a header and one row per job of a PlanReport.
std::vector<std::vector<std::string>> ReportTable(const nlohmann::json& report);

// Returns the text after the table: for each job without a place the full reason and what would
// help; for the others their warnings. Each job starts with an empty line. A reason of one line
// that the table already has is left out.
std::vector<std::string> AdviceLines(const nlohmann::json& report);

}  // namespace yardmaster::cli
