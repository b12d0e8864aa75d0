// A plan as JSON (kind PlanReport, the contract of `plan -o json`) and as a table. Pure.
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

// How people know a job: its own name and kind, not its Gang's.
struct ReportName {
  std::string kind;
  std::string name;
};
using ReportNames = std::map<NamespacedName, ReportName>;

// `with_paths`: the report has the lists `paths`, `answers` and `uplinks`, empty or not.
nlohmann::json PlanReport(const plan::Snapshot& snapshot, const plan::Plan& plan,
                          const netplan::NetworkPlan& network, const ReportNames& names,
                          bool with_paths);

// An entry of its `jobs`: one that contradicts itself and was not planned.
nlohmann::json InvalidJob(const std::string& namespace_name, const ReportName& name,
                          const std::vector<std::string>& problems);
// Likewise: pods that are not a whole gang, with `pods`: how many of them are there and wanted.
nlohmann::json IncompleteJob(const gather::IncompleteGang& gang);

// Likewise: one that runs and is left where it is.
nlohmann::json JobLeftAlone(const NamespacedName& gang, const ReportName& name,
                            const std::vector<api::AssignmentEntry>& assignments,
                            const std::string& why);

// Header and one row per job of a PlanReport.
std::vector<std::vector<std::string>> ReportTable(const nlohmann::json& report);

// What follows the table: of each job without a place why, in full, and what would help; of the
// others their warnings. Each job begins with an empty line. Of one line that the table has,
// nothing.
std::vector<std::string> AdviceLines(const nlohmann::json& report);

}  // namespace yardmaster::cli
