// The network policy that the cluster runs: problem in; paths, priorities and levels out.
//
// Options, as they stand here, are the production configuration. The operator, `kubectl yardmaster
// crux`, the simulator and the benchmarks all call Decide with them, and change only what an
// operator could change, too. The paper as written and the schedulers it is compared with are in
// lab/policies.h.
//
// Steps: paths (path_selection.h), priorities (priority.h), levels (compression.h,
// level_hysteresis.h), and a search of bounded work around the result (anytime_search.h).
//
// Given the present plan (Options::previous), jobs that changed choose anew. Others move only where
// the FLOP gained in the time for which a plan is expected to hold exceed
// what the moved jobs do not compute while their connections are made anew (MoveOptions). If
// nothing changed the answer is the present plan.
//
// Deterministic in (problem, options). Thread safety: pure.
// Errors: what Validate refuses; InvalidArgument for levels all of which are reserved, and for a
// previous solution that does not fit the problem.
#pragma once

#include <cstdint>
#include <optional>
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
  // For so long each job is expected to run on, by job; infinite, or no entry: unknown. When one of
  // those that share links ends, they are searched again; until then a move has to pay.
  std::vector<double> remaining_seconds;
};

struct Options {
  std::uint64_t seed = 1;
  // Levels that belong to others (control traffic, a job being profiled); never handed out.
  std::vector<std::int32_t> reserved_levels;
  PathSelectionOptions paths;
  CorrectionOptions correction;
  CompressionOptions compression;
  double level_hysteresis = 0.05;
  AnytimeSearchOptions search;
  MoveOptions moves;

  // What holds now: aligned with problem.jobs, an entry of a new job has no paths and level -1. The
  // rest of the problem has to be one that was answered before: only changed jobs are validated.
  std::optional<Solution> previous;
  std::vector<ContendingJobId> changed;  // sorted; new jobs are always among them
  bool departures = false;               // a job that was in `previous` has left since
};

// How a decision was reached.
struct DecisionReport {
  std::int64_t events = 0;       // simulated
  std::int64_t evaluations = 0;  // schedules simulated
  std::int32_t searches = 0;
};

// `memory`: of earlier decisions (decision_memory.h). It makes a decision cheaper, never another one.
absl::StatusOr<Solution> Decide(const Problem& problem, const Options& options = {},
                                DecisionReport* report = nullptr, DecisionMemory* memory = nullptr);

// The levels of `problem` that may be handed out, rising.
std::vector<std::int32_t> UsableLevels(const Problem& problem,
                                       const std::vector<std::int32_t>& reserved);

// Fills the numbers of section 2 to 4 for paths and levels decided elsewhere: communication time,
// intensity, and priorities that agree with the levels; edges; loss. `levels` count within `usable`.
Solution Describe(const Problem& problem, const Paths& paths,
                  const std::vector<std::int32_t>& levels, const std::vector<std::int32_t>& usable,
                  const CorrectionOptions& correction = {});
// As above, with every level usable.
Solution Describe(const Problem& problem, const Paths& paths,
                  const std::vector<std::int32_t>& levels);

}  // namespace yardmaster::crux
