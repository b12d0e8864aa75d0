// Computes the size at which an elastic TrainingJob would fit that waits at its present size. It is
// the size that the operator would choose after shrinkAfterSeconds (operator/jobs/elastic_size.h),
// if nothing else changes.
//
// Thread safety: pure functions.
#pragma once

#include "nlohmann/json_fwd.hpp"

#include "pkg/cli/plan_input.h"
#include "pkg/plan/planner.h"

namespace yardmaster::cli {

// Adds `elastic` with `data`, `workers` and `message` to those entries of a PlanReport's `jobs`.
// REQUIRES: PlanReport returned `report` for this input and plan. Complexity: a few plans for each
// such job.
void AddSmallerSizes(const PlanInput& input, const plan::Plan& plan, nlohmann::json& report);

}  // namespace yardmaster::cli
