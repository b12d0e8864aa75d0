// Decide is the network policy of the cluster: it computes paths, priorities and levels from a
// problem.
//
// Options with their defaults are the production configuration. The operator (pkg/netplan),
// `kubectl yardmaster crux`, the simulator and the benchmarks start from them. Placement predicts
// contention with them (pkg/plan/contention_cost.h), but without a search. The paper's algorithm as
// published and other schedulers are in simulation/policies/policies.h.
//
// Steps:
//
//   1. paths (path_selection.h);
//   2. priorities (priority.h);
//   3. levels (compression.h, level_hysteresis.h);
//   4. two searches of bounded work: whole plans are computed again in problems of at most 64 jobs
//      (search/replan.h), and single jobs are moved (search/anytime_search.h).
//
// With a present plan (PresentState::previous):
//
//   - Jobs that changed choose their paths again. Levels follow the new priorities as
//     level_hysteresis.h says.
//   - The searches move other jobs only if the gained FLOP, over the time for which a plan is
//     expected to hold, exceed the FLOP that the moved jobs lose while their connections are set up
//     again (MoveOptions).
//   - If nothing changed, paths and levels are those of the present plan.
//
// Errors: those of ValidateChanged, and without a previous solution those of Validate;
// InvalidArgument if all levels are reserved, or if the previous solution does not fit the problem.
//
// Determinism: a function of (problem, options, present). Thread safety: pure functions, except
// that Decide changes `memory`: concurrent calls need separate memories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/crux/compression.h"
#include "pkg/crux/decision_memory.h"
#include "pkg/crux/draft.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/priority.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/search/anytime_search.h"

namespace yardmaster::crux {

struct MoveOptions {
  // Time that a job loses when its connections change paths, or levels.
  double path_stall_seconds = 1;
  double level_stall_seconds = 0.1;
  // Time for which a plan is expected to hold: about the time between arrivals or ends of jobs that
  // share links.
  double horizon_seconds = 300;
};

// The configuration of Decide.
struct Options {
  std::uint64_t seed = 1;
  PathSelectionOptions paths;
  CorrectionOptions correction;
  CompressionOptions compression;
  double level_hysteresis = 0.05;
  AnytimeSearchOptions search;
  MoveOptions moves;
};

// The state at the time of the decision.
struct PresentState {
  // Levels that are never assigned, because control traffic or a job that is profiled uses them.
  std::vector<std::int32_t> reserved_levels;
  // The present plan, aligned with problem.jobs. The entry of a new job has no paths and level -1.
  // REQUIRES: the rest of the problem was answered before; only changed jobs are validated.
  std::optional<Solution> previous;
  std::vector<ContendingJobId> changed;  // sorted, valid indices; contains every new job
  bool departures = false;               // a job of `previous` has left
  // Expected remaining seconds by job; infinite or no entry: unknown. The horizon of jobs that are
  // searched together (MoveOptions) ends with the first of them, but is at least one second.
  std::vector<double> remaining_seconds;
};

// Statistics of a decision.
struct DecisionReport {
  std::int64_t events = 0;       // spent from the budget: simulated events, ranking of plans
  std::int64_t evaluations = 0;  // simulations of groups of jobs
  std::int32_t searches = 0;     // calls of ImproveSchedule; Replan is not counted
};

// `report`, `memory`: optional. `memory` caches what earlier decisions computed
// (decision_memory.h). It changes the cost of a decision, not the result.
absl::StatusOr<Solution> Decide(const Problem& problem, const Options& options = {},
                                const PresentState& present = {}, DecisionReport* report = nullptr,
                                DecisionMemory* memory = nullptr);

// Returns the levels of 0 to `levels` - 1 that are not reserved, ascending. If these are more than
// 64 and more than `jobs`, only the highest are returned.
std::vector<std::int32_t> UsableLevels(std::int32_t levels, std::span<const std::int32_t> reserved,
                                       std::size_t jobs);

// Computes the numbers of sections 2 to 4 for given paths and levels: communication time,
// intensity, priorities that agree with the levels, edges and loss, but not optimal_loss. `levels`
// are indices into `usable`. A job without communication time gets the lowest usable level.
Solution Describe(const Problem& problem, const Paths& paths,
                  const std::vector<std::int32_t>& levels, const std::vector<std::int32_t>& usable,
                  const CorrectionOptions& correction = {});

}  // namespace yardmaster::crux
