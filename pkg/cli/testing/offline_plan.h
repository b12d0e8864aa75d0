// Runs `kubectl yardmaster plan --offline` over manifests from standard input. For tests only.
//
// Thread safety: pure functions.
#pragma once

#include <sstream>
#include <string>

#include "nlohmann/json.hpp"

#include "pkg/cli/commands.h"

namespace yardmaster::cli {

struct PlanAnswer {
  int code = 0;
  std::string err;
  nlohmann::json report;  // discarded if the output is not JSON
  // Returns the first job of the report with this name; empty if there is none.
  nlohmann::json job(const std::string& name) const {
    for (const nlohmann::json& job : report["jobs"]) {
      if (job["name"] == name) return job;
    }
    return nlohmann::json::object();
  }
};

inline PlanAnswer PlanOffline(const std::string& manifests) {
  std::istringstream in(manifests);
  std::ostringstream out, err;
  PlanAnswer answer;
  answer.code = RunPlanCommand({"--offline", "-f", "-"}, /*connect=*/nullptr, in, out, err);
  answer.err = err.str();
  answer.report = nlohmann::json::parse(out.str(), nullptr, false);
  return answer;
}

}  // namespace yardmaster::cli
