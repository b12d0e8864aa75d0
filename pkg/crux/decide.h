// The network policy that the cluster runs: problem in; paths, priorities and levels out.
//
// Options with their defaults are the production configuration. The operator (pkg/netplan),
// `kubectl yardmaster crux`, the simulator and the benchmarks start from them; placement predicts
// contention (pkg/plan/contention_cost.h) with them, but without a search. The paper as written and
// the schedulers it is compared with are in simulation/policies/policies.h.
//
// Steps: paths (path_selection.h), priorities (priority.h), levels (compression.h,
// level_hysteresis.h), and two searches of bounded work from that result: whole plans made again in
// problems of at most 64 jobs (search/replan.h), and moves of single jobs
// (search/anytime_search.h).
//
// Given the present plan (PresentState::previous), jobs that changed choose their paths again.
// Levels follow the new priorities by the rule of level_hysteresis.h. The searches move other jobs
// only where the FLOP gained in the time for which a plan is expected to hold exceed what the moved
// jobs do not compute while their connections are made again (MoveOptions). If nothing changed,
// paths and levels are those of the present plan.
//
// Deterministic in (problem, options, present). Thread safety: pure functions, except that Decide
// changes `memory`: concurrent calls need memories of their own.
// Errors: what ValidateChanged refuses, and without a previous solution what Validate refuses;
// InvalidArgument for levels all of which are reserved, and for a previous solution that does not
// fit the problem.
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
  // How long a job waits while its connections take other paths, or other levels.
  double path_stall_seconds = 1;
  double level_stall_seconds = 0.1;
  // How long a plan is expected to hold: about the time between two arrivals or ends of jobs that
  // share links.
  double horizon_seconds = 300;
};

// How to decide.
struct Options {
  std::uint64_t seed = 1;
  PathSelectionOptions paths;
  CorrectionOptions correction;
  CompressionOptions compression;
  double level_hysteresis = 0.05;
  AnytimeSearchOptions search;
  MoveOptions moves;
};

// What holds when a decision is made.
struct PresentState {
  // Levels that belong to others (control traffic, a job being profiled); never handed out.
  std::vector<std::int32_t> reserved_levels;
  // The present plan: aligned with problem.jobs, an entry of a new job has no paths and level -1.
  // The rest of the problem has to be one that was answered before: only changed jobs are
  // validated.
  std::optional<Solution> previous;
  std::vector<ContendingJobId> changed;  // sorted, valid indices; contains every new job
  bool departures = false;               // a job that was in `previous` has left since
  // How long each job is expected to run on, by job; infinite, or no entry: unknown. The horizon of
  // jobs searched together (MoveOptions) ends with the first of them, but is at least one second.
  std::vector<double> remaining_seconds;
};

// How a decision was reached.
struct DecisionReport {
  std::int64_t events = 0;  // of the event budget spent: simulated events and the ranking of plans
  std::int64_t evaluations = 0;  // simulations of groups of jobs
  std::int32_t searches = 0;     // calls of ImproveSchedule; Replan is not counted
};

// `report` and `memory` are optional. `memory` keeps what earlier decisions computed
// (decision_memory.h); it changes the cost of a decision, not the result.
absl::StatusOr<Solution> Decide(const Problem& problem, const Options& options = {},
                                const PresentState& present = {}, DecisionReport* report = nullptr,
                                DecisionMemory* memory = nullptr);

// The levels 0 to `levels` - 1 that may be handed out to `jobs` jobs, rising: those not reserved.
// Where these are more than 64 and more than the jobs, only the highest of them.
std::vector<std::int32_t> UsableLevels(std::int32_t levels, std::span<const std::int32_t> reserved,
                                       std::size_t jobs);

// Fills the numbers of sections 2 to 4 for paths and levels decided elsewhere: communication time,
// intensity, and priorities that agree with the levels; edges; loss; not optimal_loss. `levels` are
// indices into `usable`. A job without communication time gets the lowest usable level.
Solution Describe(const Problem& problem, const Paths& paths,
                  const std::vector<std::int32_t>& levels, const std::vector<std::int32_t>& usable,
                  const CorrectionOptions& correction = {});

}  // namespace yardmaster::crux
